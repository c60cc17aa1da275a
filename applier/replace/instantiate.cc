#include "applier/replace/instantiate.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

/// Each result is a value of its own, computed here: a value has one name in a model.
Expected<void> checkResults(const Program& program) {
  std::set<Value> seen;
  for (Value v : program.outputs()) {
    if (program.node(v).is(ops::kInput)) return fail(ErrorKind::kCheck, "an operand would be a result");
    if (!seen.insert(v).second) return fail(ErrorKind::kCheck, "one value would be two results");
  }
  return {};
}

/// Extents are not negative, and those of results are the pattern's.
Expected<void> checkExtents(const Program& program, const Program& pattern) {
  for (const Node& n : program.nodes()) {
    for (const Shape& s : n.shapes) {
      bool fine = std::all_of(s.begin(), s.end(), [](const Dim& d) { return d.asConstant().value_or(0) >= 0; });
      if (!fine) return fail(ErrorKind::kCheck, fmt::format("{} would have the extents {}", n.names[0], str(s)));
    }
  }
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    const Shape &is = program.shape(program.outputs()[i]), &wanted = pattern.shape(pattern.outputs()[i]);
    if (is != wanted)
      return fail(ErrorKind::kCheck, fmt::format("the result would have the extents {}, not {}", str(is), str(wanted)));
  }
  return {};
}

int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& d : shape)
    count = checkedMul(count, d.asConstant().value_or(0));
  return count;
}

/// No weight, nor what it is computed from, is larger than a model can hold: a rule for tiny maps may fit a large one.
/// And none depends on an extent that the model leaves open.
Expected<void> checkWeights(const Program& program) {
  auto constant = constantNodes(program);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (!constant[i] || n.is(ops::kInput)) continue;
    for (const Shape& s : n.shapes) {
      if (!asConstants(s))
        return fail(ErrorKind::kCheck, fmt::format("its weights {} would depend on the sizes left open", str(s)));
      if (elements(s) > kMostWeights)
        return fail(ErrorKind::kCheck, fmt::format("it would need weights of {} values", elements(s)));
    }
  }
  return {};
}

}  // namespace

Expected<Rewrite> instantiate(const Site& site,
                              const Rule& rule,
                              const rewrite::Symbols& symbols,
                              const std::string& siteName) {
  try {
    auto pattern = rewrite::instantiate(site.pattern->program, site.symbols);
    if (!pattern) return tl::unexpected(pattern.error());
    auto replacement = rewrite::instantiate(rule.replacement, symbols);
    if (!replacement) return tl::unexpected(replacement.error());
    Program live = replacement->withoutDeadNodes();
    if (auto ok = checkResults(live); !ok) return tl::unexpected(ok.error());
    if (auto ok = checkExtents(live, *pattern); !ok) return tl::unexpected(ok.error());
    if (auto ok = checkWeights(live); !ok) return tl::unexpected(ok.error());
    return Rewrite{
        site, &rule, symbols, std::move(*pattern), std::move(live), fmt::format("pet/{}/{}", rule.name, siteName), {}};
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
}

Rewrite boundTo(const Rewrite& rewrite, const Bindings& sizes) {
  if (sizes.empty()) return rewrite;
  const rewrite::Symbols numbers = rewrite::symbolsOf(sizes);
  auto bound = [&](const Program& p) { return rewrite::instantiate(p, numbers).value(); };
  Rewrite result = rewrite;
  result.site.symbols = rewrite::symbolsOf(rewrite::numbersAt(rewrite.site.symbols, sizes));
  result.symbols = rewrite::symbolsOf(rewrite::numbersAt(rewrite.symbols, sizes));
  result.pattern = bound(rewrite.pattern);
  result.replacement = bound(rewrite.replacement);
  return result;
}

int64_t newWeights(const Program& replacement) {
  auto constant = constantNodes(replacement);
  int64_t count = 0;
  for (const auto& [value, by] : readers(replacement)) {
    const Node& n = replacement.node(value);
    bool isRead = std::any_of(by.begin(), by.end(), [&](int r) { return r < 0 || !constant[static_cast<size_t>(r)]; });
    if (isRead && constant[static_cast<size_t>(value.node)] && !n.is(ops::kInput))
      count += elements(replacement.shape(value));
  }
  return count;
}

int64_t weightElements(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  std::set<Value> read;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    if (constant[i]) continue;
    for (Value v : program.nodes()[i].operands) {
      if (constant[static_cast<size_t>(v.node)]) read.insert(v);
    }
  }
  int64_t count = 0;
  for (Value v : read)
    count += elements(program.shape(v));
  return count;
}

}  // namespace pet
