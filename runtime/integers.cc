#include <limits>

#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"

namespace pet {

using Verdict = Comparison::Verdict;

namespace {

/// Values for the inputs that none is given for.
Expected<WholeTensors> drawn(const IntegerProgram& p, const SummedInputs& summed, uint64_t seed) {
  WholeTensors tensors;
  const IndexInputs indices = indexInputs(p.program, {});
  for (Value v : p.program.inputs()) {
    const std::string& name = p.program.name(v);
    if (p.given.contains(name)) continue;
    auto extents = asConstants(p.program.shape(v));
    if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(p.program.shape(v)), name);
    if (auto count = indices.find(name); count != indices.end()) {
      tensors.emplace(name, drawIndices(Draw(seed, name), *extents, count->second));
      continue;
    }
    auto magnitude = summed.find(name);
    const int64_t limit = magnitude == summed.end() ? std::numeric_limits<int64_t>::max() / 2 : magnitude->second;
    tensors.emplace(name, drawNonZero(Draw(seed, name), *extents, limit));
  }
  return tensors;
}

Expected<std::vector<TensorRef<int64_t>>> results(const IntegerProgram& p, const WholeTensors& drawn) {
  return execute<int64_t>(p.program, {}, [&](std::string_view name) -> TensorRef<int64_t> {
    for (const WholeTensors* tensors : {&p.given, &drawn}) {
      if (auto found = tensors->find(name); found != tensors->end()) return borrow(found->second);
    }
    return nullptr;
  });
}

Comparison compareUnguarded(const IntegerProgram& original,
                            const IntegerProgram& rewritten,
                            const SummedInputs& summed,
                            uint64_t seed) {
  auto inputs = drawn(original, summed, seed);
  if (!inputs) return notPossible(inputs.error());
  auto before = results(original, *inputs);
  if (!before) return notPossible(before.error());
  auto after = results(rewritten, *inputs);
  if (!after) return failureOfReplacement(after.error());
  if (before->size() != after->size()) return {Verdict::kFails, "the numbers of outputs differ", "", 0};
  for (size_t o = 0; o < before->size(); ++o) {
    const Tensor<int64_t>&was = *(*before)[o], &is = *(*after)[o];
    const std::string& name = original.program.name(original.program.outputs()[o]);
    if (auto shapes = differentExtents(was, is)) return {Verdict::kFails, fmt::format("{}: {}", name, *shapes), "", 0};
    for (size_t i = 0; i < was.data.size(); ++i) {
      if (was.data[i] == is.data[i]) continue;
      return {Verdict::kFails, fmt::format("{}{} is another value", name, position(was.extents, i)), "", 0};
    }
  }
  return {Verdict::kHolds, "", summed.empty() ? "each value's place" : "integers, exactly", 0};
}

}  // namespace

Comparison compareIntegers(const IntegerProgram& original,
                           const IntegerProgram& rewritten,
                           const SummedInputs& summed,
                           uint64_t seed) {
  return guarded([&] { return compareUnguarded(original, rewritten, summed, seed); });
}

}  // namespace pet
