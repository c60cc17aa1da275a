#include "applier/measure.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "applier/extract.h"
#include "applier/onnx/model.h"
#include "applier/round.h"
#include "ir/quantile.h"

namespace pet {
namespace {

constexpr double kSiteSeconds = 2;

/// What is timed once: the rules with their shapes.
std::string settingOf(const std::vector<const Rewrite*>& rewrites) {
  std::string text;
  for (const Rewrite* r : rewrites) {
    text += r->rule->name;
    for (const auto& [symbol, value] : r->site.symbols)
      text += fmt::format(" {}={}", symbol, value);
    text += "; ";
  }
  return text;
}

/// The part of a model that the rewrites are in, with its neighbours: as it is, and rewritten.
Expected<std::vector<std::string>> modelsOf(const Model& model,
                                            const View& view,
                                            const std::vector<const Rewrite*>& rewrites) {
  const Graph& graph = model.graph;
  std::set<int> nodes;
  std::vector<NamedSite> sites;
  for (const Rewrite* r : rewrites) {
    for (int n : r->site.nodes)
      nodes.insert(view.provenance[static_cast<size_t>(n)].origin);
    sites.push_back({siteName(graph, view, r->site.anchor), r->site.pattern, r->rule, r->site.symbols});
  }
  const ValueTypes types = typesOf(graph);
  auto before = extract(model, types, partOf(graph, types, withNeighbours(graph, {nodes.begin(), nodes.end()})));
  if (!before) return tl::unexpected(before.error());
  auto after = rewriteSites(before->graph, sites);
  if (!after) return tl::unexpected(after.error());
  Model rewritten = *before;
  rewritten.graph = std::move(*after);
  std::vector<std::string> bytes;
  for (const Model& each : {*before, rewritten}) {
    auto serialized = serialize(each);
    if (!serialized) return tl::unexpected(serialized.error());
    bytes.push_back(std::move(*serialized));
  }
  return bytes;
}

}  // namespace

Measured compareTurns(std::string what,
                      const std::vector<double>& original,
                      const std::vector<double>& rewritten,
                      double least) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(original.size(), rewritten.size()); ++i)
    ratios.push_back(original[i] / rewritten[i]);
  if (ratios.empty()) return {std::move(what), 1, 1, 1, false};
  Measured m{std::move(what), median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)};
  m.pays = m.ratio >= least && quantile(ratios, 0.2) >= 1;
  return m;
}

std::optional<std::string> SiteTimer::objection(const Model& model,
                                                const View& view,
                                                const std::vector<const Rewrite*>& rewrites) {
  if (!time_) return std::nullopt;
  std::string setting = settingOf(rewrites);
  if (auto it = known_.find(setting); it != known_.end()) return it->second;
  auto decide = [&]() -> std::optional<std::string> {
    auto models = modelsOf(model, view, rewrites);
    if (!models) return "could not be timed: " + models.error().what;
    auto samples = time_({std::move(*models), kSiteSeconds, true});
    if (!samples) return "could not be timed: " + samples.error().what;
    std::string what;
    for (const Rewrite* r : rewrites)
      what += fmt::format("{}{} at {}", what.empty() ? "" : ", ", r->rule->name,
                          siteName(model.graph, view, r->site.anchor));
    lines_.push_back(compareTurns(what, (*samples)[0], (*samples)[1], minGain_));
    const Measured& m = lines_.back();
    if (m.pays) return std::nullopt;
    return fmt::format("timed here: {:.2f} ({:.2f} - {:.2f})", m.ratio, m.p10, m.p90);
  };
  return known_[setting] = decide();
}

}  // namespace pet
