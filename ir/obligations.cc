#include <algorithm>

#include "ir/denote.h"

namespace pet {

std::vector<Constraint> obligations(const Program& program) {
  const auto& nodes = program.nodes();
  // A value may be empty if all that it reaches, directly or through others, is a Concat: that operand is then left
  // out.
  std::vector<bool> mayBeEmpty(nodes.size(), true);
  for (Value v : program.outputs())
    mayBeEmpty[static_cast<size_t>(v.node)] = false;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].is(ops::kConcat) || mayBeEmpty[i]) continue;
    for (Value v : nodes[i].operands)
      mayBeEmpty[static_cast<size_t>(v.node)] = false;
  }
  std::vector<Constraint> result;
  auto add = [&](const Constraint& c) {
    if (c.decided() != true && std::find(result.begin(), result.end(), c) == result.end()) result.push_back(c);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.is(ops::kInput)) continue;
    std::vector<Shape> operands;
    for (Value v : n.operands)
      operands.push_back(program.shape(v));
    if (n.op->obligations) {
      for (const Constraint& c : n.op->obligations({n.attributes, operands, n.shapes}))
        add(c);
    }
    for (const Shape& s : n.shapes) {
      for (const Dim& d : s) {
        for (const Expr& atom : d.atoms())
          add(Constraint::le(mayBeEmpty[i] ? 0 : 1, atom));
      }
    }
  }
  return result;
}

}  // namespace pet
