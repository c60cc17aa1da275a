#include "tools/rules/model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "applier/measure/scene.h"
#include "applier/operators/onnx_rows.h"
#include "rules/rewrite/normal_form.h"
#include "rules/small_shapes.h"
#include "runtime/rounding.h"

namespace pet::rules {
namespace {

constexpr int kOpset = 18;                       // of the model, unless the rule needs a later one
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

/// What a model is matched by: an operator, the rank of what it computes, its dilations.
struct Operator {
  std::string_view name;
  size_t rank;
  std::vector<Expr> dilations;
  bool operator==(const Operator&) const = default;
};

/// The operators of a program's normal form.
std::vector<Operator> formOf(const Program& program) {
  const Program normal = rewrite::inNormalForm(program);
  std::vector<Operator> form;
  for (const Node& n : normal.nodes())
    form.push_back({n.op->name, n.shapes[0].size(),
                    n.attributes.contains("dilations") ? n.list("dilations") : std::vector<Expr>()});
  return form;
}

/// How many operators of the pattern's normal form are others at this shape: a Resize to its own size is none, a Conv
/// over three axes whose kernel covers the first is one over two, and one of whose taps all but one see padding has
/// other dilations.
size_t otherOperators(const Program& pattern, const Bindings& symbols) {
  auto program = pattern.substitute(exprsOf(symbols));
  if (!program) return 0;
  const auto symbolic = formOf(pattern), here = formOf(*program);
  const size_t common = std::min(symbolic.size(), here.size());
  size_t others = std::max(symbolic.size(), here.size()) - common;
  for (size_t i = 0; i < common; ++i)
    others += symbolic[i] != here[i];
  return others;
}

using Order = std::tuple<size_t, size_t, size_t, int64_t>;

/// Least is best: boxes without positions, operators that become others, symbols that are 0 or 1, the sum of all.
Order order(const Program& pattern, const Rule& rule, const Bindings& symbols) {
  auto empty = static_cast<size_t>(
      std::count_if(rule.boxes.begin(), rule.boxes.end(), [&](const Box& b) { return isEmpty(b, symbols); }));
  size_t trivial = 0;
  int64_t sum = 0;
  for (const auto& [symbol, value] : symbols) {
    trivial += value <= 1 ? 1 : 0;
    sum += value;
  }
  return {empty, otherOperators(pattern, symbols), trivial, sum};
}

/// The least opset from kOpset on that has all operators of the replacement.
int opsetFor(const Program& replacement) {
  int64_t opset = kOpset;
  for (const Node& n : replacement.nodes()) {
    if (const OnnxRow* row = findWriter(n.op->name)) opset = std::max(opset, row->since);
  }
  return static_cast<int>(opset);
}

}  // namespace

Expected<void> writeModelOf(const Pattern& pattern, const Rule& rule, const std::string& path) {
  auto source = instantiate(pattern, rule);
  if (!source) return tl::unexpected(source.error());
  auto isCheap = [&](const Bindings& symbols) { return multiplyAdds(*source, symbols) <= kMostWork; };
  auto shapes = smallShapes(rule.shapes, kShapes, 0, isCheap).members;
  if (shapes.empty()) return fail(ErrorKind::kUnsupported, "its class has no small shape", rule.name);
  std::map<Order, const Bindings*> ordered;
  for (const Bindings& s : shapes)
    ordered.emplace(order(*source, rule, s), &s);  // the first of equal ones
  auto program = source->substitute(exprsOf(*ordered.begin()->second));
  if (!program) return tl::unexpected(program.error());
  auto model = sceneOf(*program, std::nullopt, opsetFor(rule.replacement));
  if (!model) return tl::unexpected(model.error());
  auto bytes = serialize(*model);
  return bytes ? writeModel(*bytes, path) : tl::unexpected(bytes.error());
}

}  // namespace pet::rules
