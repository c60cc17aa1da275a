#include "applier/round/quantized.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "applier/match/find_sites.h"
#include "applier/read/as_float.h"

namespace pet {
namespace {

using NodeTypes = std::map<std::string, std::string, std::less<>>;  // by the first result

NodeTypes nodeTypes(const Graph& graph) {
  NodeTypes types;
  for (const GraphNode& n : graph.nodes) {
    if (!n.outputs.empty()) types.emplace(n.outputs[0], n.type);
  }
  return types;
}

/// What in the model is in the way of a site that was found in `plain`.
std::string reasonAt(const Site& site, const View& view, const Graph& plain, const NodeTypes& types) {
  for (int n : site.nodes) {
    const int origin = view.provenance[static_cast<size_t>(n)].origin;
    if (origin < 0) continue;
    const GraphNode& node = plain.nodes[static_cast<size_t>(origin)];
    auto type = types.find(node.outputs.at(0));
    const bool rounds = type != types.end() && !type->second.ends_with("Integer");  // those sum exactly
    if (rounds && type->second != node.type)
      return fmt::format("is quantized: {} computes with integers, and rounds", type->second);
  }
  return "is quantized: a QuantizeLinear and a DequantizeLinear, which round, stand between";
}

}  // namespace

Expected<std::vector<QuantizedSite>> quantizedSites(const Graph& graph,
                                                    const NormaliseOptions& options,
                                                    RuleSource& rules,
                                                    Forms& forms) {
  auto plain = asFloat(graph);
  if (!plain) return std::vector<QuantizedSite>();
  const NodeTypes types = nodeTypes(graph);
  const Normalised normalised = normalise(*plain, options);
  const MatchIndex index(*plain, normalised.view, normalised.sizes);
  auto patterns = rules.patternsOf(index.operators());
  if (!patterns) return tl::unexpected(patterns.error());
  std::vector<QuantizedSite> found;
  for (const Pattern* pattern : *patterns) {
    std::vector<Refusal> refusals;
    for (const Site& site : match(index, *pattern, forms, refusals)) {
      found.push_back({siteName(*plain, normalised.view, site.anchor), pattern->name,
                       reasonAt(site, normalised.view, *plain, types)});
    }
  }
  return found;
}

}  // namespace pet
