#include "applier/check/members.h"

#include <algorithm>
#include <limits>
#include <string>

#include "rules/small_shapes.h"
#include "runtime/rounding.h"

namespace pet {
namespace {

/// Multiply-adds of both programs and elements of the inputs; the largest number where that overflows.
int64_t workAt(const Rule& rule, const Program& pattern, const Bindings& symbols) {
  try {
    int64_t work = checkedAdd(multiplyAdds(pattern, symbols), multiplyAdds(rule.replacement, symbols));
    for (Value v : pattern.inputs())
      work = checkedAdd(work, elementCount(evaluate(pattern.shape(v), symbols).value_or(Extents{})));
    return work;
  } catch (const OverflowError&) {
    return std::numeric_limits<int64_t>::max();
  }
}

}  // namespace

std::vector<Bindings> smallMembers(const Rule& rule, const Program& pattern, uint64_t seed) {
  constexpr int64_t kWork = 4'000;
  constexpr size_t kCandidates = 6, kAttempts = 100;  // a rule for large blocks has no member as small as that
  auto cheap = [&](const Bindings& symbols) { return workAt(rule, pattern, symbols) <= kWork; };
  std::vector<Bindings> members = smallShapes(rule.shapes, kCandidates, seed, cheap, kAttempts).members;
  if (members.size() > 2) members.erase(members.begin() + 1, members.end() - 1);
  return members;
}

Bindings memberLike(const Rule& rule, const Program& pattern, Bindings shapes) {
  constexpr int64_t kWork = 200'000;
  if (!rule.shapes.contains(shapes)) return shapes;
  auto half = [&](const std::string& symbol) {
    Bindings halved = shapes;
    int64_t& value = halved.find(symbol)->second;
    value = (value + 1) / 2;
    return halved;
  };
  while (workAt(rule, pattern, shapes) > kWork) {
    std::vector<std::string> order = rule.shapes.symbols;
    std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
      return shapes.find(a)->second > shapes.find(b)->second;
    });
    auto next = std::find_if(order.begin(), order.end(), [&](const std::string& symbol) {
      return shapes.find(symbol)->second > 1 && rule.shapes.contains(half(symbol));
    });
    if (next == order.end()) break;
    shapes = half(*next);
  }
  return shapes;
}

std::vector<PositionBox> boxesAt(const Rule& rule, const Program& pattern, const Bindings& shapes) {
  std::vector<PositionBox> boxes;
  size_t rank = pattern.shape(pattern.outputs()[0]).size();
  for (const Box& box : rule.boxes) {
    PositionBox at;
    for (const BoxRange& range : box.ranges) {
      auto lower = range.lower.evaluate(shapes), upper = range.upper.evaluate(shapes);
      if (lower && upper) at.push_back({*lower, *upper, range.step});
    }
    if (at.size() == rank) boxes.push_back(std::move(at));
  }
  return boxes;
}

}  // namespace pet
