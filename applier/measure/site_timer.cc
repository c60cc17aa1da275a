#include "applier/measure/site_timer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "applier/clean/simplify.h"
#include "applier/measure/extract.h"
#include "applier/operators/onnx_rows.h"
#include "applier/read/normalise.h"
#include "applier/replace/splice.h"
#include "applier/write/emit.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

constexpr double kSiteSeconds = 2;

/// The pattern's symbols at these sizes.
rewrite::Symbols shapesOf(const Rewrite& r, const Bindings& sizes) {
  return rewrite::symbolsOf(rewrite::numbersAt(r.site.symbols, sizes));
}

/// What is timed once: the rules with their shapes.
std::string settingOf(const std::vector<const Rewrite*>& rewrites, const Bindings& sizes) {
  std::string text;
  for (const Rewrite* r : rewrites) {
    text += fmt::format("{} {}; ", r->rule->name, rewrite::str(shapesOf(*r, sizes)));
  }
  return text;
}

/// A rule at a site that is given by its name.
struct NamedSite {
  std::string site;  ///< siteName()
  const Pattern* pattern = nullptr;
  const Rule* rule = nullptr;
  rewrite::Symbols shapes;  ///< the pattern's symbols
};

/// The graph with these rules applied at these sites, cleaned up, unchecked. kUnsupported: a site is not there, or the
/// rule cannot be written there.
Expected<Graph> rewriteSites(const Graph& graph, const std::vector<NamedSite>& sites) {
  Normalised normalised = normalise(graph);
  const View& view = normalised.view;
  const MatchIndex index(graph, view, normalised.sizes);
  std::vector<Rewrite> rewrites;
  for (const NamedSite& wanted : sites) {
    std::vector<Refusal> refusals;
    auto found = match(index, *wanted.pattern, refusals);
    auto site = std::find_if(found.begin(), found.end(), [&](const Site& s) {
      return s.symbols == wanted.shapes && siteName(graph, view, s.anchor) == wanted.site;
    });
    if (site == found.end()) {
      return fail(ErrorKind::kUnsupported,
                  "the pattern does not match" + (refusals.empty() ? "" : ": " + refusals[0].reason.detail),
                  wanted.site);
    }
    auto implied = [&](const Constraint& c) { return normalised.sizes.implies(c); };
    auto symbols = rewrite::bindRule(*wanted.rule, site->symbols, implied);
    if (!symbols) return tl::unexpected(symbols.error());
    auto made = instantiate(*site, *wanted.rule, *symbols, wanted.site);
    if (!made) return tl::unexpected(made.error());
    if (auto why = whyNotEmitted(made->replacement, graph.opset, site->element))
      return fail(ErrorKind::kUnsupported, *why);
    rewrites.push_back(std::move(*made));
  }
  return emit(graph, view, simplify(splice(view, rewrites)));
}

/// The part of a model that the rewrites are in, with its neighbours: as it is, and rewritten; at these sizes.
Expected<std::vector<std::string>> modelsOf(const Model& model,
                                            const InferredTypes& inferred,
                                            const MatchIndex& index,
                                            const std::vector<const Rewrite*>& rewrites,
                                            const Bindings& sizes) {
  const Graph& graph = model.graph;
  const View& view = index.view();
  std::set<int> nodes;
  std::vector<NamedSite> sites;
  for (const Rewrite* r : rewrites) {
    for (int n : r->site.nodes)
      nodes.insert(view.provenance[static_cast<size_t>(n)].origin);
    sites.push_back({siteName(graph, view, r->site.anchor), r->site.pattern, r->rule, shapesOf(*r, sizes)});
  }
  const ValueTypes types = typesOf(graph, inferred, index.sizes().inModel(sizes));
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

std::optional<Reason> SiteTimer::objection(const Model& model,
                                           const InferredTypes& types,
                                           const MatchIndex& index,
                                           const std::vector<const Rewrite*>& rewrites) {
  if (!time_) return std::nullopt;
  for (const Bindings& sizes : index.sizes().spread()) {
    auto [known, isNew] = known_.try_emplace(settingOf(rewrites, sizes));
    if (isNew) known->second = timedAt(model, types, index, rewrites, sizes);
    if (!known->second) continue;
    Reason reason = *known->second;
    reason.detail += timedAtText(index.sizes().inModel(sizes));
    return reason;
  }
  return std::nullopt;
}

std::optional<Reason> SiteTimer::timedAt(const Model& model,
                                         const InferredTypes& types,
                                         const MatchIndex& index,
                                         const std::vector<const Rewrite*>& rewrites,
                                         const Bindings& sizes) {
  auto models = modelsOf(model, types, index, rewrites, sizes);
  if (!models) return Reason{ReasonKind::kNotTimed, "could not be timed: " + models.error().what};
  auto samples = time_({std::move(*models), kSiteSeconds, true});
  if (!samples) return Reason{ReasonKind::kNotTimed, "could not be timed: " + samples.error().what};
  std::string what;
  for (const Rewrite* r : rewrites)
    what += fmt::format("{}{} at {}", what.empty() ? "" : ", ", r->rule->name,
                        siteName(model.graph, index.view(), r->site.anchor));
  what += timedAtText(index.sizes().inModel(sizes));
  lines_.push_back(compareTurns(what, (*samples)[0], (*samples)[1], minGain_));
  const Measured& m = lines_.back();
  if (m.pays) return std::nullopt;
  return Reason{ReasonKind::kTimedHere, fmt::format("timed here: {:.2f} ({:.2f} - {:.2f})", m.ratio, m.p10, m.p90),
                m.ratio};
}

}  // namespace pet
