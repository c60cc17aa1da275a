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
        distance_[i] = std::max(distance_[i], counts && !continues(n, program.node(v)) ? before + 1 : before);
      }
      if (counts) groups_.emplace(distance_[i], n.op->layout, n.op->layout ? "" : n.op->name);
    }
  }

  int count() const { return static_cast<int>(groups_.size()); }

 private:
  static bool continues(const Node& n, const Node& before) {
    return (n.op->layout && before.op->layout) || (n.is(ops::kAdd) && before.is(ops::kAdd));
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
