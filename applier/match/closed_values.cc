#include "applier/match/closed_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "ir/evaluate.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// So many values at the beginning of a row, or of a column, are the same.
struct Run {
  int64_t inRow = 0, inColumn = 0;
};

Run firstRun(const std::vector<double>& values, int64_t rows, int64_t columns) {
  auto at = [&](int64_t r, int64_t c) { return values[static_cast<size_t>(r * columns + c)]; };
  Run run;
  while (run.inRow < columns && at(0, run.inRow) == at(0, 0))
    ++run.inRow;
  while (run.inColumn < rows && at(run.inColumn, 0) == at(0, 0))
    ++run.inColumn;
  return run;
}

/// A constant's extents with dimensions of extent 1 added in front, or left out there, until it has this rank; or as
/// they are, where there are none to leave out.
Extents extentsAs(size_t rank, Extents extents) {
  while (extents.size() < rank)
    extents.insert(extents.begin(), 1);
  while (extents.size() > rank && extents.front() == 1)
    extents.erase(extents.begin());
  return extents;
}

template <class T>
Expected<void> compare(const Program& program, const Bindings& symbols, const Constant& constant) {
  auto wanted = evaluate<T>(program, symbols, {});
  if (!wanted) return tl::unexpected(wanted.error());
  const Constant stored = Constant::rounded(constant.element, (*wanted)[0]);
  if (stored.values<T>().data == constant.values<T>().data) return {};
  return fail(ErrorKind::kCheck, "a constant has other values");
}

}  // namespace

ClosedValues::ClosedValues(const Program& pattern) : pattern_(pattern) {
  for (const Node& n : pattern.nodes()) {
    closed_.push_back(!n.is(ops::kInput) && n.names.size() == 1 &&
                      std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) { return contains(v); }));
  }
}

bool ClosedValues::broadcasts(Value v) const {
  static constexpr std::array kElementwise{std::string_view("Add"),   std::string_view("Sub"),
                                           std::string_view("Mul"),   std::string_view("Div"),
                                           std::string_view("PRelu"), std::string_view("Where")};
  return std::all_of(pattern_.nodes().begin(), pattern_.nodes().end(), [&](const Node& n) {
    bool reads = std::find(n.operands.begin(), n.operands.end(), v) != n.operands.end();
    return !reads || std::find(kElementwise.begin(), kElementwise.end(), n.op->name) != kElementwise.end();
  });
}

Expected<std::vector<rewrite::DimEquation>> ClosedValues::equations(Value v, const Constant& constant) const {
  const Shape& shape = pattern_.shape(v);
  if (!isComputed(constant.element)) return fail(ErrorKind::kCheck, "a constant of another type");
  const Extents extents = extentsAs(shape.size(), constant.extents);
  if (extents.size() != shape.size() || (constant.extents.size() != shape.size() && !broadcasts(v)))
    return fail(ErrorKind::kCheck, "a constant of another rank");
  std::vector<rewrite::DimEquation> result;
  for (size_t d = 0; d < shape.size(); ++d)
    result.push_back({shape[d], extents[d], "extent", "a constant", static_cast<int>(d)});
  if (shape.size() < 2 || elementCount(extents) == 0) return result;
  auto values = constant.numbers();
  if (!values) return fail(ErrorKind::kCheck, "a constant of another type");
  Run run = firstRun(*values, extents[extents.size() - 2], extents.back());
  const Program program = pattern_.computing({v});
  for (const Node& n : program.nodes()) {
    if (!n.is(ops::kBand)) continue;
    result.push_back({n.scalar("upper"), run.inRow - 1, "upper", "Band"});
    result.push_back({n.scalar("lower"), run.inColumn - 1, "lower", "Band"});
  }
  return result;
}

std::optional<Numbers::value_type> ClosedValues::number(Value v,
                                                        const Constant& constant,
                                                        const std::vector<double>& anyNumbers) const {
  const Node& n = pattern_.node(v);
  if (!n.is(ops::kConstant)) return std::nullopt;
  const double number = n.number("value");
  if (std::find(anyNumbers.begin(), anyNumbers.end(), number) == anyNumbers.end()) return std::nullopt;
  const auto values = constant.numbers();
  if (!values || values->empty()) return std::nullopt;
  const double is = values->front();
  const bool isOne = std::all_of(values->begin(), values->end(), [&](double other) { return other == is; });
  return isOne && is > 0 && std::isfinite(is) ? std::optional(Numbers::value_type(number, is)) : std::nullopt;
}

Expected<void> ClosedValues::check(Value v,
                                   const Constant& constant,
                                   const Bindings& symbols,
                                   const Numbers& numbers) const {
  Program program = withNumbers(pattern_.computing({v}), numbers);
  return constant.element == ElementType::kDouble ? compare<double>(program, symbols, constant)
                                                  : compare<float>(program, symbols, constant);
}

}  // namespace pet
