#include <algorithm>

#include <fmt/format.h>

#include "synth/poly/poly.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// The number that none of the others exceeds, whatever the shape.
std::optional<Expr> largest(const ShapeClass& shapes, const std::vector<Expr>& numbers) {
  const poly::Context context(shapes);
  for (const Expr& n : numbers) {
    auto exceeds = [&](const Expr& other) { return !context.implies(Constraint::le(other, n)); };
    if (std::none_of(numbers.begin(), numbers.end(), exceeds)) return n;
  }
  return std::nullopt;
}

/// The first channels of each group, as many as the output has.
Behind firstOfEachGroup(size_t axis, const Shape& all, const std::vector<Expr>& channels, const Expr& group) {
  auto make = [=](ProgramBuilder& b, const Values& v) -> Expected<Values> {
    Values outputs;
    for (const Expr& n : channels) {
      const Expr begin = group * static_cast<int64_t>(outputs.size());
      auto y = b.add("Slice", {v[0]},
                     {{"axes", std::vector<Expr>{static_cast<int64_t>(axis)}},
                      {"starts", std::vector<Expr>{begin}},
                      {"ends", std::vector<Expr>{begin + n}}});
      if (!y) return tl::unexpected(y.error());
      outputs.push_back(*y);
    }
    return outputs;
  };
  return {"slices", {all}, make};
}

}  // namespace

std::vector<Arrangement> unequalGroups(const PatternFacts& facts) {
  const size_t count = facts.program.outputs().size();
  auto joined = count > 1 && count == facts.activations.size() ? joinedInputs(facts) : std::nullopt;
  if (!joined || !isImage(facts.output())) return {};
  std::vector<Expr> channels;
  for (size_t o = 0; o < count; ++o) {
    const Shape& y = facts.output(o);
    if (!alike(y, facts.output()) || !y[1].isAffine()) return {};
    channels.push_back(y[1].affine());
  }
  if (std::count(channels.begin(), channels.end(), channels[0]) == static_cast<std::ptrdiff_t>(count)) return {};
  auto group = largest(facts.shapes, channels);
  if (!group) return {};
  Shape all = facts.output();
  all[1] = Dim(*group * static_cast<int64_t>(count));
  int nextSymbol = 0;
  auto operators = linearOperators(facts, joined->shape, all, nextSymbol);
  std::erase_if(operators, [&](const LinearOperator& o) { return !o.name.ends_with(fmt::format("-g{}", count)); });
  if (operators.empty()) return {};
  return {{"", {*joined}, firstOfEachGroup(1, all, channels, *group), "grouped-siblings", std::move(operators)}};
}

}  // namespace pet
