#include <limits>

#include "runtime/compare.h"
#include "runtime/difference.h"
#include "runtime/draw.h"

namespace pet {

using Verdict = Comparison::Verdict;

namespace {

/// Values for the inputs that none is given for.
Expected<WholeTensors> drawPlaces(const MovingProgram& p, uint64_t seed) {
  WholeTensors drawn;
  for (Value v : p.program.inputs()) {
    const std::string& name = p.program.name(v);
    if (p.given.contains(name)) continue;
    auto extents = asConstants(p.program.shape(v));
    if (!extents) return fail(ErrorKind::kInternal, "unbound symbol in " + str(p.program.shape(v)), name);
    drawn.emplace(name, drawNonZero(Draw(seed, name), *extents, std::numeric_limits<int64_t>::max() / 2));
  }
  return drawn;
}

Expected<std::vector<TensorRef<int64_t>>> moved(const MovingProgram& p, const WholeTensors& drawn) {
  return execute<int64_t>(p.program, {}, [&](std::string_view name) -> TensorRef<int64_t> {
    for (const WholeTensors* tensors : {&p.given, &drawn}) {
      if (auto found = tensors->find(name); found != tensors->end()) return borrow(found->second);
    }
    return nullptr;
  });
}

Comparison compareMovesUnguarded(const MovingProgram& original, const MovingProgram& rewritten, uint64_t seed) {
  auto drawn = drawPlaces(original, seed);
  if (!drawn) return notPossible(drawn.error());
  auto before = moved(original, *drawn);
  if (!before) return notPossible(before.error());
  auto after = moved(rewritten, *drawn);
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
  return {Verdict::kHolds, "", "each value's place", 0};
}

}  // namespace

Comparison compareMoves(const MovingProgram& original, const MovingProgram& rewritten, uint64_t seed) {
  return guarded([&] { return compareMovesUnguarded(original, rewritten, seed); });
}

}  // namespace pet
