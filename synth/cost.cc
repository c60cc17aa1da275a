#include "synth/cost.h"

#include "ir/ops/op.h"

namespace pet {

std::optional<double> arithmetic(const Program& program, const Bindings& symbols) {
  double total = 0;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name == "Input" || isConstant(program, {static_cast<int>(i), 0})) continue;
    auto elements = [&](const Shape& s) -> double {
      auto e = evaluate(s, symbols);
      return e ? static_cast<double>(elementCount(*e)) : -1;
    };
    double out = elements(n.shapes[0]), factor = 1;
    if (n.op->name == "Conv") {
      const Shape& w = program.shape(n.operands[1]);
      factor = elements(w) / elements({w[0]});
    } else if (n.op->name == "ConvTranspose") {
      const Shape& w = program.shape(n.operands[1]);
      out = elements(program.shape(n.operands[0]));
      factor = elements(w) / elements({w[0]});
    } else if (n.op->name == "MatMul") {
      factor = elements({program.shape(n.operands[0]).back()});
    } else if (n.op->name == "OffsetReduce") {
      out = elements(program.shape(n.operands[0]));
    }
    if (out < 0 || factor < 0) return std::nullopt;
    total += out * factor;
  }
  return total;
}

}  // namespace pet
