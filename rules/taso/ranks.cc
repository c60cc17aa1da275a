#include "rules/taso/ranks.h"

#include <functional>

#include <fmt/format.h>

namespace pet::taso {
namespace {

constexpr size_t kFreeRank = 2;

/// Classes of tensors of one rank: every tensor leads to another one of its class, in the end to its representative.
class RankClasses {
 public:
  void unite(const TensorKey& a, const TensorKey& b) {
    TensorKey from = root(a), to = root(b);
    if (from != to) parent_[from] = to;
  }
  TensorKey root(TensorKey k) const {
    for (auto it = parent_.find(k); it != parent_.end(); it = parent_.find(k))
      k = it->second;
    return k;
  }

 private:
  std::map<TensorKey, TensorKey> parent_;
};

class RankInference {
 public:
  explicit RankInference(const Substitution& s) : s_(s) {}

  Expected<std::map<TensorKey, TensorRank>> run() {
    for (int side : {0, 1}) {
      if (auto ok = operators(side); !ok) return tl::unexpected(ok.error());
    }
    for (const MappedOutput& m : s_.outputs)
      classes_.unite({0, {m.source, m.sourceOutput}}, {1, {m.target, m.targetOutput}});
    for (const auto& [key, rank] : known_) {
      auto [it, isNew] = ranks_.emplace(classes_.root(key), rank);
      if (!isNew && it->second != rank) {
        return fail(ErrorKind::kUnsupported, fmt::format("a tensor is of rank {} and of rank {}", it->second, rank));
      }
    }
    handDown();
    std::map<TensorKey, TensorRank> result;
    for (const TensorKey& key : tensors_) {
      size_t rank = rankOfTensor(key);
      auto role = roles_.find(key);
      result[key] = {rank, lettersOf(role == roles_.end() ? Role::kSame : role->second, rank)};
    }
    return result;
  }

 private:
  const std::vector<Operator>& side(int side) const { return side == 0 ? s_.source : s_.target; }

  size_t rankOfTensor(const TensorKey& key) const {
    auto it = ranks_.find(classes_.root(key));
    return it == ranks_.end() ? kFreeRank : it->second;
  }

  /// What the rows say of the tensors that they read and make.
  Expected<void> operators(int side) {
    const auto& ops = this->side(side);
    for (size_t i = 0; i < ops.size(); ++i) {
      auto row = findOperator(ops[i].type);
      if (!row) return tl::unexpected(row.error());
      TensorKey result{side, {static_cast<int>(i), 0}};
      note(result, (*row)->result);
      for (size_t o = 0; o < ops[i].inputs.size(); ++o) {
        TensorKey operand = TensorKey::of(side, ops[i].inputs[o]);
        tensors_.push_back(operand);
        if ((*row)->operands.empty()) break;
        Role role = (*row)->role(o);
        note(operand, role);
        if (role == Role::kSame && (*row)->result == Role::kSame) classes_.unite(operand, result);
        if (operand.tensor.output > 0) classes_.unite(operand, {operand.side, {operand.tensor.op, 0}});
      }
      if (int rank = ops[i].parameter(kRank, 0); rank > 0) known_.emplace_back(result, static_cast<size_t>(rank));
    }
    return {};
  }

  void note(const TensorKey& key, Role role) {
    tensors_.push_back(key);
    if (auto rank = rankOf(role)) known_.emplace_back(key, *rank);
    if (role != Role::kSame && role != Role::kMatrix) roles_.emplace(key, role);
  }

  /// An operator that leaves the rank as it is names its operands' dimensions as its result's.
  void handDown() {
    for (int side : {0, 1}) {
      const auto& ops = this->side(side);
      for (size_t i = ops.size(); i-- > 0;) {
        auto role = roles_.find({side, {static_cast<int>(i), 0}});
        if (role == roles_.end() || (*findOperator(ops[i].type))->result != Role::kSame) continue;
        for (const Tensor& t : ops[i].inputs)
          roles_.emplace(TensorKey::of(side, t), role->second);
      }
    }
  }

  const Substitution& s_;
  RankClasses classes_;
  std::vector<TensorKey> tensors_;
  std::vector<std::pair<TensorKey, size_t>> known_;
  std::map<TensorKey, size_t> ranks_;  ///< of representatives
  std::map<TensorKey, Role> roles_;
};

}  // namespace

Expected<std::map<TensorKey, TensorRank>> inferRanks(const Substitution& s) {
  return RankInference(s).run();
}

}  // namespace pet::taso
