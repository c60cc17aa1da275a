#include "applier/check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "applier/constants.h"
#include "runtime/compare.h"

namespace pet {
namespace {

CheckLine lineOf(const std::string& where, const Comparison& c) {
  return {where, c.scope, c.verdict != Comparison::Verdict::kNotPossible, c.reason, c.worst};
}

/// A constant as float, as the comparisons take it.
Tensor<float> asFloat(const Constant& c) {
  if (c.element == ElementType::kFloat) return c.values<float>();
  Tensor<double> wide = c.values<double>();
  return {wide.extents, {wide.data.begin(), wide.data.end()}};
}

/// A rule's boxes at a site. Boxes speak of digits; where those are not the dimensions there is nothing to aim at.
std::vector<PositionBox> positions(const Rewrite& r) {
  std::vector<PositionBox> boxes;
  size_t rank = r.pattern.shape(r.pattern.outputs()[0]).size();
  for (const Box& box : r.rule->boxes) {
    PositionBox at;
    for (const BoxRange& range : box.ranges) {
      auto lower = range.lower.evaluate(r.symbols), upper = range.upper.evaluate(r.symbols);
      if (lower && upper) at.push_back({*lower, *upper, range.step});
    }
    if (at.size() == rank) boxes.push_back(std::move(at));
  }
  return boxes;
}

/// The site's constant operands, by the pattern's names.
Expected<TensorMap> constantsOf(const Rewrite& r, ConstantEvaluator& constants) {
  TensorMap tensors;
  auto inputs = r.site.pattern->program.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (r.site.pattern->program.node(inputs[i]).scalar("constant") != Expr(1)) continue;
    auto c = constants.value(r.site.inputs[i]);
    if (!c) return tl::unexpected(c.error());
    tensors.emplace(r.site.pattern->program.name(inputs[i]), asFloat(*c));
  }
  return tensors;
}

/// A view as a program with its outputs in the order of their names.
struct Whole {
  Program program;
  TensorMap weights;
  std::vector<std::string> outputs;
};

Whole wholeOf(const Graph& graph, const NormaliseOptions& options) {
  View view = normalise(graph, options).view;
  std::vector<std::pair<std::string, Value>> named;
  for (Value v : view.program.outputs())
    named.emplace_back(view.names.at(v), v);
  std::sort(named.begin(), named.end());
  Whole whole;
  std::vector<Value> outputs;
  for (const auto& [name, v] : named) {
    whole.outputs.push_back(name);
    outputs.push_back(v);
  }
  for (const auto& [node, c] : view.constants)
    whole.weights.emplace(view.program.nodes()[static_cast<size_t>(node)].names[0], asFloat(c));
  whole.program = ProgramBuilder(std::move(view.program)).finish(std::move(outputs));
  return whole;
}

}  // namespace

Expected<std::vector<CheckLine>> checkSites(const View& view,
                                            const std::vector<Rewrite>& rewrites,
                                            const SiteCheckOptions& options) {
  std::vector<CheckLine> lines;
  std::set<std::pair<std::string, Bindings>> probed;
  ConstantEvaluator constants(view);
  for (const Rewrite& r : rewrites) {
    if (options.progress) options.progress(r.label);
    auto enter = [&](const Comparison& c) -> Expected<void> {
      if (c.verdict == Comparison::Verdict::kFails) {
        return fail(ErrorKind::kCheck, fmt::format("the rewritten site differs: {}", c.reason), r.label,
                    "nothing was written; please report the rule");
      }
      lines.push_back(lineOf(r.label, c));
      return {};
    };
    if (probed.emplace(r.rule->name, r.symbols).second) {
      ProbeOptions probes;
      probes.seed = options.seed;
      probes.boxes = positions(r);
      if (auto ok = enter(compareIntegerProbes(r.pattern, r.replacement, {}, probes)); !ok)
        return tl::unexpected(ok.error());
    }
    auto tensors = constantsOf(r, constants);
    if (!tensors) return tl::unexpected(tensors.error());
    RealOptions real;
    real.seed = options.seed;
    if (auto ok = enter(compareRealWeights(r.pattern, r.replacement, {}, *tensors, real)); !ok)
      return tl::unexpected(ok.error());
  }
  return lines;
}

Expected<CheckLine> checkWhole(const Graph& before, const Graph& after, const SiteCheckOptions& options) {
  Whole original = wholeOf(before, options.normalise), rewritten = wholeOf(after, options.normalise);
  if (original.outputs != rewritten.outputs) {
    return fail(ErrorKind::kInternal, "the rewritten model computes other values than the original", "",
                "please report this");
  }
  ModelOptions model;
  model.seed = options.seed;
  model.floor = options.floor;
  if (options.progress) {
    model.progress = [&](int done, int total) {
      options.progress(fmt::format("whole model, {} of {} operators", done, total));
    };
  }
  Comparison c =
      compareWholeModel({original.program, original.weights}, {rewritten.program, rewritten.weights}, {}, model);
  if (c.verdict == Comparison::Verdict::kFails) {
    return fail(ErrorKind::kCheck, fmt::format("the rewritten model differs: {}", c.reason), "whole model",
                "nothing was written; please report it");
  }
  return lineOf("whole model", c);
}

}  // namespace pet
