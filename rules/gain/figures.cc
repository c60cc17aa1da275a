#include "rules/gain/figures.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ir/work.h"

namespace pet {
Expected<Figures> figuresOf(const Program& program, const Bindings& symbols) {
  auto unknown = [&](const Node& node) {
    return fail(ErrorKind::kCheck, "its extents are not known", node.names.empty() ? "" : node.names[0]);
  };
  try {
    Figures f;
    const std::vector<bool> constant = constantNodes(program);
    std::set<Value> read;  // constants
    const auto& nodes = program.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (constant[i]) continue;
      if (node.is(ops::kInput)) {
        auto size = elementsOf(node.shapes[0], symbols);
        if (!size) return unknown(node);
        f.input += *size;
        continue;
      }
      auto work = workOf(program, node, symbols);
      if (!work || !(*work >= 0)) return unknown(node);
      f.work += *work;
      std::copy_if(node.operands.begin(), node.operands.end(), std::inserter(read, read.end()),
                   [&](Value v) { return constant[static_cast<size_t>(v.node)]; });
    }
    for (Value v : read) {
      auto size = elementsOf(program.shape(v), symbols);
      if (!size) return unknown(program.node(v));
      f.weights += *size;
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
