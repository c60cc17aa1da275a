#include "rules/gain/figures.h"

#include <algorithm>

#include "ir/work.h"

namespace pet {
Expected<Figures> figuresOf(const Program& program, const Bindings& symbols) {
  auto unknown = [&](const Node& node) {
    return fail(ErrorKind::kCheck, "its extents are not known", node.names.empty() ? "" : node.names[0]);
  };
  try {
    Figures f;
    std::vector<bool> constant;
    for (const Node& node : program.nodes()) {
      bool given = node.is(ops::kInput);
      constant.push_back(given ? node.scalar("constant") == Expr(1)
                               : std::all_of(node.operands.begin(), node.operands.end(),
                                             [&](Value v) { return constant[static_cast<size_t>(v.node)]; }));
      if (given) {
        auto size = elementsOf(node.shapes[0], symbols);
        if (!size) return unknown(node);
        (constant.back() ? f.weights : f.input) += *size;
      } else if (!constant.back()) {
        auto work = workOf(program, node, symbols);
        if (!work || !(*work >= 0)) return unknown(node);
        f.work += *work;
      }
    }
    for (Value v : program.outputs()) {
      auto size = elementsOf(program.shape(v), symbols);
      if (!size) return unknown(program.node(v));
      f.output += *size;
    }
    return f;
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
}

}  // namespace pet
