#include "applier/round/places.h"

#include <fmt/format.h>

namespace pet {
namespace {

void enterPlaces(Place place, const Inference& whole, std::map<std::string, Place>& into) {
  const std::string key = place.key;
  auto [entry, isNew] = into.emplace(key, std::move(place));
  if (!isNew) return;
  for (InnerPlace& inner : placesWithin(entry->second, whole))
    enterPlaces(std::move(inner.place), whole, into);
}

}  // namespace

std::map<std::string, Place> placesOf(const Graph& graph, const Inference& inference) {
  std::map<std::string, Place> places;
  enterPlaces(mainPlace(graph, inference), inference, places);
  return places;
}

Place mainPlace(const Graph& graph, const Inference& whole) {
  return {graph, inferenceWithin(whole.types, whole), "", ""};
}

std::vector<InnerPlace> placesWithin(const Place& outer, const Inference& whole) {
  std::vector<InnerPlace> places;
  const auto& nodes = outer.graph.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& n = nodes[i];
    auto add = [&](const std::string& attribute, const Graph& graph, const InferredScope& scope, Place place) {
      place.graph = openGraph(graph, scope);
      place.inference = inferenceWithin(scope.types, whole);
      places.push_back({i, attribute, std::move(place)});
    };
    forEachSubgraph(n, [&](const std::string& attribute, const Subgraph& graph) {
      auto scope = whole.inside.find(graph.get());
      if (scope == whole.inside.end() || n.outputs.empty()) return;
      add(attribute, *graph, scope->second,
          {{},
           {},
           fmt::format("{}{}/{}/", outer.path, nameOf(n), attribute),
           fmt::format("{}{}/{}/", outer.key, n.outputs[0], attribute)});
    });
    auto use = n.callee ? whole.functions.find(n.callee.get()) : whole.functions.end();
    if (use == whole.functions.end() || !use->second.agree || !use->second.body) continue;
    const Function& f = *n.callee;
    std::string path = f.domain.empty() ? f.name : f.domain + "." + f.name;
    add("", *use->second.body, use->second.scope, {{}, {}, path + "/", "function " + f.key() + "/"});
  }
  return places;
}

}  // namespace pet
