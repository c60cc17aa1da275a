#include "ir/ops/op.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {

std::vector<Arrangement> flippedKernels(const PatternFacts& facts) {
  const Node& n = facts.root();
  const bool isPlan = n.shapes[0].size() == 4;
  if (!facts.single || !n.is(ops::kConv) || isPlan) return {};
  const Operand input = operandsBefore(facts)[0];
  auto nothing = [](ProgramBuilder&, const std::vector<Value>& v) -> Expected<std::vector<Value>> { return v; };
  std::vector<LinearOperator> flipped = transposedConvs(facts, input.shape, facts.output());
  if (flipped.empty()) return {};
  return {{"", {input}, {"", {facts.output()}, nothing}, "flipped-kernel", std::move(flipped)}};
}

}  // namespace pet
