#include "applier/view/new_weights.h"

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet {
namespace {

/// Copies what a constant is made of, with names that say nothing of where it stood.
class DerivationBuilder {
 public:
  explicit DerivationBuilder(const View& view) : view_(view) {}

  /// Nullopt: it is not in float, nor a constant.
  std::optional<Value> ofView(Value v) {
    if (view_.elements[static_cast<size_t>(v.node)] != ElementType::kFloat) return std::nullopt;
    if (auto known = fromView_.find(v); known != fromView_.end()) return known->second;
    if (!view_.program.node(v).is(ops::kInput))
      return copy(view_.program, v, fromView_, [this](Value o) { return ofView(o); });
    auto constant = view_.constants.find(v.node);
    if (constant == view_.constants.end() || !constant->second.bytes) return std::nullopt;
    const std::string name = fmt::format("c{}", of_.size());
    of_.emplace(name, constant->second);
    return fromView_[v] = builder_.input(name, view_.program.shape(v), true);
  }

  std::optional<Value> ofProgram(const Program& program, const std::map<Value, Value>& stands, Value v) {
    if (program.node(v).is(ops::kInput)) return ofView(stands.at(v));
    if (auto known = fromProgram_.find(v); known != fromProgram_.end()) return known->second;
    return copy(program, v, fromProgram_, [&](Value o) { return ofProgram(program, stands, o); });
  }

  std::optional<Derivation> finish(std::optional<Value> result) && {
    if (!result) return std::nullopt;
    return Derivation{std::move(builder_).finish({*result}), std::move(of_)};
  }

 private:
  template <class F>
  std::optional<Value> copy(const Program& program, Value v, std::map<Value, Value>& known, F operandOf) {
    const Node& n = program.node(v);
    std::vector<Value> operands;
    for (Value o : n.operands) {
      auto operand = operandOf(o);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    std::vector<std::string> names;
    for (size_t o = 0; o < n.names.size(); ++o)
      names.push_back(fmt::format("v{}_{}", builder_.peek().nodes().size(), o));
    auto added = builder_.add(*n.op, std::move(operands), n.attributes, std::move(names));
    if (!added) return std::nullopt;
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      known[Value{v.node, o}] = Value{added->node, o};
    return known.at(v);
  }

  const View& view_;
  ProgramBuilder builder_;
  std::map<std::string, Constant, std::less<>> of_;
  std::map<Value, Value> fromView_, fromProgram_;
};

}  // namespace

std::string Derivation::key() const {
  std::string key = print(program, "");
  for (const auto& [name, constant] : of)
    key += fmt::format("{} = {} + {}\n", name, fmt::ptr(constant.bytes->data()), constant.bytes->size());
  return key;
}

Expected<Tensor<float>> Derivation::evaluated() const {
  std::map<std::string, Tensor<float>> inputs;
  for (const auto& [name, constant] : of)
    inputs.emplace(name, constant.values<float>());
  return evaluate(program, {}, inputs).map([](auto&& results) { return std::move(results[0]); });
}

std::optional<Derivation> derivationOf(const View& view, Value constant) {
  DerivationBuilder builder(view);
  auto made = builder.ofView(constant);
  return std::move(builder).finish(made);
}

std::optional<Derivation> derivationOf(const View& view,
                                       const Program& program,
                                       const std::map<Value, Value>& stands,
                                       Value constant) {
  DerivationBuilder builder(view);
  auto made = builder.ofProgram(program, stands, constant);
  return std::move(builder).finish(made);
}

Constant NewWeights::kept(Constant value) const {
  if (keep_) value.bytes = keep_(std::move(value.bytes));
  return value;
}

void NewWeights::enter(const Derivation& derivation, Constant value) {
  entries_.try_emplace(derivation.key(), Entry{derivation.of, kept(std::move(value))});
}

const Constant* NewWeights::find(const View& view, Value constant) const {
  if (entries_.empty()) return nullptr;
  auto derivation = derivationOf(view, constant);
  auto found = derivation ? entries_.find(derivation->key()) : entries_.end();
  return found == entries_.end() ? nullptr : &found->second.value;
}

}  // namespace pet
