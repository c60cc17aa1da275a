#include "synth/analysis/canonical_text.h"

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "ir/text.h"

namespace pet {

std::string canonicalText(const Program& program) {
  ProgramBuilder b;
  std::vector<int> moved;
  auto place = [&](Value v) { return Value{moved[static_cast<size_t>(v.node)], v.output}; };
  for (const Node& n : program.nodes()) {
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(place(v));
    std::vector<std::string> names;
    for (size_t k = 0; k < n.shapes.size(); ++k)
      names.push_back(fmt::format("v{}_{}", moved.size(), k));
    bool input = n.is(ops::kInput);
    Value first = input ? b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1))
                        : *b.add(*n.op, operands, n.attributes, names);
    moved.push_back(first.node);
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(place(v));
  Program canonical = std::move(b).finish(outputs);
  std::string text = printStatements(canonical);
  for (Value v : outputs)
    text += canonical.name(v) + "\n";
  return text;
}

}  // namespace pet
