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
  OperatorGroups(const Program& program, bool withLayouts) : distance_(program.nodes().size(), 0) {
    for (size_t i = 0; i < program.nodes().size(); ++i) {
      const Node& n = program.nodes()[i];
      if (n.is(ops::kInput) || isConstant(program, {static_cast<int>(i), 0})) continue;
      bool counts = withLayouts || !(n.op->layout || n.is(ops::kOffsetReduce));
      for (Value v : n.operands) {
        int before = distance_[static_cast<size_t>(v.node)];
        const bool isNext = counts && !continues(program, n, program.node(v));
        distance_[i] = std::max(distance_[i], isNext ? before + 1 : before);
      }
      if (counts) groups_.emplace(distance_[i], n.op->layout, nameOf(program, n));
    }
  }

  int count() const { return static_cast<int>(groups_.size()); }

 private:
  /// A sum of operands times numbers, or a part of one.
  static bool combines(const Program& program, const Node& n) {
    auto isNumber = [&](Value v) { return program.node(v).is(ops::kConstant); };
    return n.is(ops::kAdd) || n.is(ops::kSub) || n.is(ops::kNeg) ||
           (n.is(ops::kMul) && std::any_of(n.operands.begin(), n.operands.end(), isNumber));
  }
  static bool continues(const Program& program, const Node& n, const Node& before) {
    return (n.op->layout && before.op->layout) || (combines(program, n) && combines(program, before));
  }
  static std::string_view nameOf(const Program& program, const Node& n) {
    return n.op->layout ? "" : combines(program, n) ? ops::kAdd.text : n.op->name;
  }

  std::vector<int> distance_;
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
