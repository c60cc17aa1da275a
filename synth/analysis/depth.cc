#include "synth/analysis/depth.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// Groups of operators: all that are the same operator at one distance from the inputs are one.
class OperatorGroups {
 public:
  OperatorGroups(const Program& program, bool withLayouts)
      : distance_(program.nodes().size(), 0), chains_(program.nodes().size(), Chain::kNone) {
    findChains(program);
    for (size_t i = 0; i < program.nodes().size(); ++i) {
      const Node& n = program.nodes()[i];
      if (n.is(ops::kInput) || isConstant(program, {static_cast<int>(i), 0})) continue;
      bool counts = withLayouts || !(n.op->layout || n.is(ops::kOffsetReduce));
      for (Value v : n.operands) {
        const auto before = static_cast<size_t>(v.node);
        const bool continues = (n.op->layout && program.node(v).op->layout) ||
                               (chains_[i] != Chain::kNone && chains_[i] == chains_[before]);
        distance_[i] = std::max(distance_[i], counts && !continues ? distance_[before] + 1 : distance_[before]);
      }
      if (counts) groups_.emplace(distance_[i], n.op->layout, nameOf(i, n));
    }
  }

  int count() const { return static_cast<int>(groups_.size()); }

 private:
  /// Operators that are one in a row: a sum with coefficients, a maximum over windows.
  enum class Chain { kNone, kSum, kMaximum };

  std::string_view nameOf(size_t i, const Node& n) const {
    return n.op->layout ? "" : chains_[i] == Chain::kSum ? ops::kAdd.text : n.op->name;
  }

  /// Add, Sub, Neg, and products with numbers that nothing else reads; MaxPool.
  void findChains(const Program& program) {
    std::vector<bool> isReadElsewhere(program.nodes().size(), false);
    for (Value v : program.outputs())
      isReadElsewhere[static_cast<size_t>(v.node)] = true;
    for (size_t i = program.nodes().size(); i-- > 0;) {
      const Node& n = program.nodes()[i];
      const bool byNumber = n.is(ops::kMul) && std::any_of(n.operands.begin(), n.operands.end(),
                                                           [&](Value v) { return program.node(v).is(ops::kConstant); });
      const bool isSum = n.is(ops::kAdd) || n.is(ops::kSub) || n.is(ops::kNeg) || (byNumber && !isReadElsewhere[i]);
      chains_[i] = isSum ? Chain::kSum : n.is(ops::kMaxPool) ? Chain::kMaximum : Chain::kNone;
      if (isSum) continue;
      for (Value v : n.operands)
        isReadElsewhere[static_cast<size_t>(v.node)] = true;
    }
  }

  std::vector<int> distance_;
  std::vector<Chain> chains_;  ///< per node: what it is a part of
  std::set<std::tuple<int, bool, std::string_view>> groups_;
};

}  // namespace

int depthOf(const Program& program) {
  return OperatorGroups(program, false).count();
}

int operatorsOf(const Program& program) {
  return OperatorGroups(program, true).count();
}

}  // namespace pet
