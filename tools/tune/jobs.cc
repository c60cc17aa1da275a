#include "tools/tune/jobs.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "applier/choose/policy.h"
#include "applier/match/find_sites.h"
#include "applier/onnx/model.h"
#include "applier/read/normalise.h"
#include "ir/suggest.h"
#include "rules/pack/pack.h"
#include "rules/rewrite/bind.h"
#include "runtime/rounding.h"
#include "tools/common/cuda_device.h"

namespace pet::tune {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 26;  ///< of one value

/// In which a pattern is timed.
std::set<int> opsetsOf(const Pattern& pattern, const Grid& grid) {
  const std::set<int> opsets = grid.opsets(pattern.name);
  return opsets.empty() ? std::set{kUsualOpset} : opsets;
}

/// Those of the models that were named, then the grid's, at the opsets of the grid.
std::vector<Point> pointsFor(const Pattern& pattern,
                             const std::vector<PointsOf>& inModels,
                             const Grid& grid,
                             const Options& o) {
  std::vector<Point> points;
  auto add = [&](Point point) {
    if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
  };
  const std::set<int> opsets = opsetsOf(pattern, grid);
  for (const PointsOf& model : inModels) {
    for (const Point& p : model.at(pattern.name))
      add({p.shapes, p.beside, nearestOpset(opsets, p.opset)});
  }
  if (o.shapes.empty() && !o.models.empty()) return points;
  for (const Bindings& b : grid.points(pattern.name, pattern.shapes.symbols)) {
    for (int opset : opsets)
      add({b, {}, opset});
  }
  return points;
}

/// Small enough to be timed: the work of both sides, and the largest value that either makes (weights, say).
bool isModest(const Program& program, double maxWork) {
  for (const Node& node : program.nodes()) {
    for (const Shape& s : node.shapes) {
      auto extents = evaluate(s, {});
      if (!extents || elementCount(*extents) > kMaxElements) return false;
    }
  }
  return static_cast<double>(multiplyAdds(program, {})) <= maxWork;
}

/// The rule at these shapes, if they are in its class and modest.
std::optional<Job> jobAt(
    const Pattern& pattern, const Rule& rule, const std::string& hash, const Point& point, const Options& o) {
  const Bindings& shapes = point.shapes;
  try {
    if (!pattern.shapes.contains(shapes)) return std::nullopt;
    auto symbols = rewrite::bindRule(rule, shapes);
    if (!symbols) return std::nullopt;
    auto before = pattern.program.substitute(exprsOf(shapes));
    auto after = rule.replacement.substitute(exprsOf(*symbols));
    if (!before || !after || !isModest(*before, o.maxWork) || !isModest(*after, 4 * o.maxWork)) return std::nullopt;
    return Job{&pattern, &rule, hash, shapes, *symbols, point.beside, point.opset};
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace

Expected<std::vector<PointsOf>> sitesIn(const std::vector<std::string>& models,
                                        const std::vector<Pattern>& patterns,
                                        const ReportProgress& show) {
  std::vector<PointsOf> found;
  double done = 0;
  const auto all = static_cast<double>(models.size() * patterns.size());
  for (const std::string& path : models) {
    auto model = load(path);
    if (!model) return tl::unexpected(model.error());
    Normalised normalised = normalise(model->graph);
    MatchIndex index(model->graph, normalised.view, normalised.sizes);
    PointsOf& sites = found.emplace_back();
    for (const Pattern& pattern : patterns) {
      if (show) show("looking for sites in the models", done++ / all);
      std::vector<Point>& points = sites[pattern.name];
      std::vector<Refusal> refusals;
      for (const Site& site : match(index, pattern, refusals)) {
        for (const Bindings& sizes : normalised.sizes.samples()) {
          Point point{rewrite::numbersAt(site.symbols, sizes), site.beside, static_cast<int>(model->graph.opset)};
          if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
        }
      }
    }
  }
  return found;
}

std::map<std::string, Expr> exprsOf(const Bindings& bindings) {
  std::map<std::string, Expr> result;
  for (const auto& [symbol, value] : bindings)
    result.emplace(symbol, Expr(value));
  return result;
}

Expected<void> checkRules(const RuleSet& rules, const Options& o) {
  if (rules.rules.empty()) return fail(ErrorKind::kUsage, "it has no rules", o.pack);
  std::vector<std::string> names;
  for (const Rule& rule : rules.rules)
    names.push_back(rule.name);
  for (const std::string& glob : o.rules) {
    const bool fits =
        std::any_of(names.begin(), names.end(), [&](const auto& name) { return matchesGlob(name, glob); });
    if (!fits)
      return fail(ErrorKind::kUsage, fmt::format("--rules {}: the pack has no rule of that name", glob), "",
                  suggestionAnd(glob, names, "pet-rules ls shows the names"));
  }
  return {};
}

bool roundsTooMuch(const Rule& rule, const Options& o) {
  const auto gpu = tool::cudaDevice(o.device);
  if (!gpu || !*gpu) return false;
  const ElementType type = computedAt((*gpu)->precision);
  return relativeError(rule.numerics, type) > kErrorLimits.at(type);
}

Expected<std::vector<Job>> plan(const RuleSet& rules, const Grid& grid, const Options& o, const ReportProgress& show) {
  PET_TRY(checkRules(rules, o));
  std::vector<std::vector<Job>> byRule;
  auto inModels = sitesIn(o.models, rules.patterns, show);
  if (!inModels) return tl::unexpected(inModels.error());
  PointsOf pointsOf;
  double done = 0;
  for (const Rule& rule : rules.rules) {
    if (show) show("planning", done++ / static_cast<double>(rules.rules.size()));
    if (!matchesAny(rule.name, o.rules) || roundsTooMuch(rule, o)) continue;
    const Pattern& pattern = *rules.findPattern(rule.pattern);
    if (!pointsOf.contains(pattern.name)) pointsOf[pattern.name] = pointsFor(pattern, *inModels, grid, o);
    std::string hash = ruleHash(pattern, rule);
    byRule.emplace_back();
    for (const Point& point : pointsOf[pattern.name]) {
      if (auto job = jobAt(pattern, rule, hash, point, o)) byRule.back().push_back(std::move(*job));
    }
  }
  std::vector<Job> jobs;
  for (size_t k = 0; std::any_of(byRule.begin(), byRule.end(), [&](const auto& j) { return k < j.size(); }); ++k) {
    for (auto& of : byRule) {
      if (k >= of.size()) continue;
      jobs.push_back(std::move(of[k]));
      jobs.back().turn = static_cast<int>(k);
    }
  }
  return jobs;
}

Expected<std::vector<Job>> planned(const RuleSet& rules,
                                   const std::vector<tool::RulePoint>& points,
                                   const Grid& grid,
                                   const Options& o) {
  std::map<std::string, const Rule*, std::less<>> byName;
  for (const Rule& rule : rules.rules)
    byName.emplace(rule.name, &rule);
  std::map<const Rule*, int> turns;
  std::vector<Job> jobs;
  for (const tool::RulePoint& point : points) {
    const auto at = byName.find(point.rule);
    if (at == byName.end())
      return fail(ErrorKind::kUsage, fmt::format("--points {}: the pack has no rule {}", o.points, point.rule));
    const Rule& rule = *at->second;
    if (roundsTooMuch(rule, o)) continue;
    const Pattern& pattern = *rules.findPattern(rule.pattern);
    const int opset = nearestOpset(opsetsOf(pattern, grid), point.opset);
    auto job = jobAt(pattern, rule, ruleHash(pattern, rule), {point.shapes, point.beside, opset}, o);
    if (!job) continue;
    job->turn = turns[&rule]++;
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

Expected<std::vector<Job>> retaken(const RuleSet& rules,
                                   const Timings& timings,
                                   const RunnerHello& engine,
                                   const Options& o) {
  PET_TRY(checkRules(rules, o));
  TimingSample ours;
  ours.engine = engine.engine;
  ours.version = engine.version;
  ours.machine = engine.machine.name();
  ours.threads = o.threads;
  ours.weights = weightsAre(o);
  std::vector<Job> jobs;
  for (const Rule& rule : rules.rules) {
    if (!matchesAny(rule.name, o.rules)) continue;
    const Pattern& pattern = *rules.findPattern(rule.pattern);
    const std::string hash = ruleHash(pattern, rule);
    int turn = 0;
    for (const TimingSample& s : timings.samples(hash, o.device)) {
      if (!s.isOfSameSetting(ours) || !s.isUnsure(o.minGain)) continue;
      auto job = jobAt(pattern, rule, hash, {s.shapes, *surroundingsAt(s.place), s.opset}, o);
      if (!job) continue;
      job->turn = turn++;
      jobs.push_back(std::move(*job));
    }
  }
  return jobs;
}

}  // namespace pet::tune
