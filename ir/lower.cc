#include <algorithm>

#include "ir/denote.h"

namespace pet {
namespace {

bool isPrimitive(const Program& program) {
  return std::all_of(program.nodes().begin(), program.nodes().end(),
                     [](const Node& n) { return n.op->lower == nullptr; });
}

/// Replaces each composite operator once.
Expected<Program> lowerOnce(const Program& program) {
  ProgramBuilder builder;
  std::map<Value, Value> moved;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    std::vector<Value> operands;
    std::vector<Shape> shapes;
    for (Value v : n.operands) {
      operands.push_back(moved.at(v));
      shapes.push_back(program.shape(v));
    }
    Value result;
    if (n.op->name == "Input") {
      result = builder.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
    } else {
      auto added = n.op->lower ? n.op->lower(builder, {n.attributes, shapes, n.shapes}, operands)
                               : builder.add(*n.op, operands, n.attributes);
      if (!added) return tl::unexpected(added.error());
      result = *added;
    }
    for (int o = 0; o < static_cast<int>(n.shapes.size()); ++o)
      moved[{static_cast<int>(i), o}] = {result.node, o};
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder).finish(outputs);
}

}  // namespace

Expected<Program> lower(const Program& program) {
  Expected<Program> result = program;
  while (result && !isPrimitive(*result))
    result = lowerOnce(*result);
  return result;
}

}  // namespace pet
