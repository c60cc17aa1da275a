#include <algorithm>

#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// Layers on channels: products, and no windows.
bool isOfProducts(const Program& p) {
  auto reads = [&](const OpName& op) {
    return std::any_of(p.nodes().begin(), p.nodes().end(), [&](const Node& n) { return n.is(op); });
  };
  return reads(ops::kMatMul) && !reads(ops::kConv) && !reads(ops::kConvTranspose);
}

}  // namespace

std::vector<Arrangement> productsFromTheLeft(const PatternFacts& facts) {
  if (facts.activations.size() != 1 || facts.program.outputs().size() != 1 || !isOfProducts(facts.program)) return {};
  const std::string name = facts.program.name(facts.activations[0]);
  const Shape &x = facts.program.shape(facts.activations[0]), &y = facts.output();
  if (x.size() != 4 || !alike(x, y)) return {};
  const Dim positions = Dim::product({x[2], x[3]});
  const std::map<std::string, Dim> axes{{"h", x[2]}, {"w", x[3]}};
  auto flattened = [name](ProgramBuilder& b) { return layout(b, *b.peek().find(name), "n c h w -> n c (h w)"); };
  auto back = [axes](ProgramBuilder& b, const Values& v) {
    return only(layout(b, v[0], "n f (h w) -> n f h w", axes));
  };
  auto product = [](ProgramBuilder& b, Value on, Value hole) { return b.add("MatMul", {hole, on}); };
  return {{"",
           {{name, {x[0], x[1], positions}, flattened}},
           {"", {{y[0], y[1], positions}}, back},
           "from-the-left",
           {{"matmul-left", {y[1], x[1]}, {}, product}}}};
}

}  // namespace pet
