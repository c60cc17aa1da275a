#include "tools/rules/model.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "applier/measure/scene.h"
#include "rules/small_shapes.h"
#include "runtime/rounding.h"

namespace pet::rules {
namespace {

constexpr int kOpset = 18;
constexpr size_t kShapes = 200;                  // to choose from
constexpr int64_t kMostWork = int64_t{1} << 22;  // multiply-adds of the model

std::map<std::string, Expr> exprsOf(const Bindings& bindings) {
  std::map<std::string, Expr> exprs;
  for (const auto& [symbol, value] : bindings)
    exprs.emplace(symbol, value);
  return exprs;
}

bool isEmpty(const Box& box, const Bindings& symbols) {
  return std::any_of(box.ranges.begin(), box.ranges.end(), [&](const BoxRange& r) {
    auto begin = r.lower.evaluate(symbols), end = r.upper.evaluate(symbols);
    return !begin || !end || *begin >= *end;
  });
}

/// Least is best: boxes without positions, symbols that are 0 or 1, the sum of all.
std::tuple<size_t, size_t, int64_t> order(const Rule& rule, const Bindings& symbols) {
  auto empty = static_cast<size_t>(
      std::count_if(rule.boxes.begin(), rule.boxes.end(), [&](const Box& b) { return isEmpty(b, symbols); }));
  size_t trivial = 0;
  int64_t sum = 0;
  for (const auto& [symbol, value] : symbols) {
    trivial += value <= 1 ? 1 : 0;
    sum += value;
  }
  return {empty, trivial, sum};
}

}  // namespace

Expected<void> writeModelOf(const Pattern& pattern, const Rule& rule, const std::string& path) {
  auto source = instantiate(pattern, rule);
  if (!source) return tl::unexpected(source.error());
  auto isCheap = [&](const Bindings& symbols) { return multiplyAdds(*source, symbols) <= kMostWork; };
  auto shapes = smallShapes(rule.shapes, kShapes, 0, isCheap).members;
  if (shapes.empty()) return fail(ErrorKind::kUnsupported, "its class has no small shape", rule.name);
  auto best = std::min_element(shapes.begin(), shapes.end(),
                               [&](const Bindings& a, const Bindings& b) { return order(rule, a) < order(rule, b); });
  auto program = source->substitute(exprsOf(*best));
  if (!program) return tl::unexpected(program.error());
  auto model = sceneOf(*program, false, kOpset);
  if (!model) return tl::unexpected(model.error());
  auto bytes = serialize(*model);
  return bytes ? writeModel(*bytes, path) : tl::unexpected(bytes.error());
}

}  // namespace pet::rules
