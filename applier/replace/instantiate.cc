#include "applier/replace/instantiate.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/layout_algebra.h"
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

/// The value with extents of another rank. kCheck: that would be more than a regrouping.
Expected<Value> regrouped(ProgramBuilder& builder, Value v, const Shape& to, std::string name) {
  if (builder.shape(v).size() == to.size()) return v;
  auto layout = regroup(builder.shape(v), to);
  if (!layout)
    return fail(ErrorKind::kCheck,
                fmt::format("{} are not known to be the extents {}", str(builder.shape(v)), str(to)));
  return builder.add(ops::kLayout.text, {v}, {{"layout", std::move(*layout)}}, std::move(name));
}

/// A replacement where the pattern stands with other batch dimensions: what comes in and goes out is reshaped.
Expected<Program> betweenReshapes(const Program& replacement, const Program& pattern) {
  ProgramBuilder builder;
  std::map<Value, Value> moved;
  for (Value v : replacement.inputs()) {
    const std::string& name = replacement.name(v);
    const auto stands = pattern.find(name);  // nowhere: a weight that the model has in a constant with others
    Value input =
        builder.input(name, stands ? pattern.shape(*stands) : replacement.shape(v), isConstant(replacement, v));
    auto own = regrouped(builder, input, replacement.shape(v), name + "_rows");
    if (!own) return tl::unexpected(own.error());
    moved[v] = *own;
  }
  for (int i = 0; i < static_cast<int>(replacement.nodes().size()); ++i) {
    if (replacement.nodes()[static_cast<size_t>(i)].is(ops::kInput)) continue;
    if (auto ok = copyNode(builder, replacement, i, moved); !ok) return tl::unexpected(ok.error());
  }
  std::vector<Value> outputs;
  for (size_t i = 0; i < replacement.outputs().size(); ++i) {
    const Value v = replacement.outputs()[i];
    auto out = regrouped(builder, moved.at(v), pattern.shape(pattern.outputs()[i]), replacement.name(v) + "_shaped");
    if (!out) return tl::unexpected(out.error());
    outputs.push_back(*out);
  }
  return std::move(builder).finish(std::move(outputs));
}

/// The values of the symbols of what matched.
rewrite::Symbols symbolsOfForm(const Site& site) {
  rewrite::Symbols symbols = site.symbols;
  for (size_t i = 0; site.batch && i < site.batch->dims.size(); ++i)
    symbols.insert_or_assign(site.batch->dims[i], site.batch->extents[i]);
  return symbols;
}

/// The replacement where the pattern stands with other batch dimensions: with the same ones where its operators look at
/// each position of the batch by itself, else between Reshapes.
Expected<Program> withBatch(const Rule& rule,
                            const Program& replaced,
                            const rewrite::Symbols& symbols,
                            const Site& site,
                            const Program& pattern) {
  const rewrite::BatchDimensions& batch = *site.batch;
  const bool renamed = std::any_of(rule.where.begin(), rule.where.end(), [&](const auto& w) {
    return w.first == batch.symbol || w.second.mentions(batch.symbol);
  });
  auto direct = renamed ? std::nullopt : rewrite::withBatchDimensions(replaced, batch.extents.size());
  if (direct && direct->batch == batch.symbol) {
    rewrite::Symbols all = symbols;
    for (size_t i = 0; i < direct->dims.size(); ++i)
      all.insert_or_assign(direct->dims[i], batch.extents[i]);
    return rewrite::instantiate(direct->program, all);
  }
  auto replacement = rewrite::instantiate(replaced, symbols);
  if (!replacement) return replacement;
  return betweenReshapes(replacement->withoutDeadNodes(), pattern);
}

/// The replacement with the model's constants as inputs, where these are expressions of its weights.
Expected<Program> ofConstants(const Program& replacement, const std::vector<FactoredConstant>& factored) {
  ProgramBuilder builder;
  std::map<std::string, Value> weights;
  for (const FactoredConstant& f : factored) {
    std::map<Value, Value> moved;
    for (Value v : f.weights.inputs())
      moved[v] = builder.input(f.weights.name(v), f.weights.shape(v), true);
    for (int i = 0; i < static_cast<int>(f.weights.nodes().size()); ++i) {
      if (f.weights.nodes()[static_cast<size_t>(i)].is(ops::kInput)) continue;
      if (auto ok = copyNode(builder, f.weights, i, moved); !ok) return tl::unexpected(ok.error());
    }
    for (Value v : f.weights.outputs())
      weights.emplace(f.weights.name(v), moved.at(v));
  }
  std::map<Value, Value> moved;
  for (int i = 0; i < static_cast<int>(replacement.nodes().size()); ++i) {
    const Value v{i, 0};
    const Node& n = replacement.node(v);
    if (!n.is(ops::kInput)) {
      if (auto ok = copyNode(builder, replacement, i, moved); !ok) return tl::unexpected(ok.error());
    } else if (auto made = weights.find(n.names[0]); made != weights.end()) {
      moved[v] = made->second;
    } else {
      moved[v] = builder.input(n.names[0], n.shapes[0], isConstant(replacement, v));
    }
  }
  std::vector<Value> outputs;
  for (Value v : replacement.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder).finish(std::move(outputs));
}

int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& d : shape)
    count = checkedMul(count, d.asConstant().value_or(0));
  return count;
}

/// No weight, nor what it is computed from, is larger than a model can hold: a rule for tiny maps may fit a large one.
/// And none of the model's depends on an extent that the model leaves open. What the rule makes of nothing may, as a
/// matrix of interpolation does, which the model then computes in each run.
Expected<void> checkWeights(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  std::vector<bool> isOfModel;
  for (const Node& n : program.nodes()) {
    const size_t i = isOfModel.size();
    isOfModel.push_back(n.is(ops::kInput) || std::any_of(n.operands.begin(), n.operands.end(), [&](Value v) {
                          return isOfModel[static_cast<size_t>(v.node)];
                        }));
    if (!constant[i] || n.is(ops::kInput)) continue;
    for (const Shape& s : n.shapes) {
      if (isOfModel[i] && !asConstants(s))
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
    auto pattern = rewrite::instantiate(withNumbers(*site.program, site.numbers), symbolsOfForm(site));
    if (!pattern) return tl::unexpected(pattern.error());
    const Program replaced = withNumbers(rule.replacement, site.numbers);
    auto ofWeights =
        site.batch ? withBatch(rule, replaced, symbols, site, *pattern) : rewrite::instantiate(replaced, symbols);
    if (!ofWeights) return tl::unexpected(ofWeights.error());
    auto replacement = ofConstants(*ofWeights, site.factored);
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
  if (result.site.batch) {
    for (Dim& d : result.site.batch->extents)
      d = Dim(d.evaluate(sizes).value());
  }
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
