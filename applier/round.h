#pragma once

#include "applier/apply.h"
#include "applier/instantiate.h"

namespace pet {

/// Rules may build on each other's results, but each only once at a place, and only so many. Names of nodes say which
/// rules made them, so this holds over several runs, too: a second one finds nothing to do.
inline constexpr int kMaxGenerations = 4;

/// What one round of rewriting decided and did.
struct Round {
  Graph graph;
  std::vector<Fired> fired;
  std::vector<Refused> refused;
  SiteChecks checks;
  double checkSeconds = 0;
};

/// Why rewrites whose layouts meet do not pay on the engine; nullopt where they do.
using Objection =
    std::function<std::optional<std::string>(const Graph&, const View&, const std::vector<const Rewrite*>&)>;

/// Finds the sites of all patterns in a graph, chooses among the rules, rewrites, cleans up. Nothing fired: the graph
/// is as it was. `objection` may be null. kCheck: a site's check failed.
Expected<Round> rewriteOnce(const Graph& graph,
                            const RuleSet& rules,
                            const Costs& costs,
                            const ApplyOptions& options,
                            const Objection& objection = nullptr);

/// A rule at a site that is given by its name.
struct NamedSite {
  std::string site;  ///< siteName()
  const Pattern* pattern = nullptr;
  const Rule* rule = nullptr;
  Bindings shapes;  ///< the pattern's symbols
};

/// The graph with these rules applied at these sites, cleaned up, unchecked. kUnsupported: a site is not there, or the
/// rule cannot be written there.
Expected<Graph> rewriteSites(const Graph& graph, const std::vector<NamedSite>& sites);

}  // namespace pet
