#include "tools/bench/sites.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::bench {
namespace {

void unite(std::vector<std::string>& a, std::vector<std::string>& b) {
  std::vector<std::string> both;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  a = b = std::move(both);
}

}  // namespace

std::string brief(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t kMost = 2;
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + std::min(kMost, std::ssize(names)), ", "));
  return std::ssize(names) > kMost ? fmt::format("{}, {} more", text, std::ssize(names) - kMost) : text;
}

Sites::Sites(const Model& before, const Model& after)
    : before_(before), after_(after), types_(typesOf(before.graph)), changes_(changesOf(before.graph, after.graph)) {
  types_.merge(typesOf(after.graph));
}

std::string Sites::nameOf(const Change& change) const {
  return brief(change.sites.empty() ? nodesOf(change) : change.sites);
}

std::vector<std::string> Sites::nodesOf(const Change& change) const {
  std::vector<std::string> names;
  for (int i : change.before) {
    const GraphNode& n = before_.graph.nodes[static_cast<size_t>(i)];
    names.push_back(n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name);
  }
  return names;
}

std::vector<int> Sites::neighbours(const Change& change) const {
  std::vector<int> result;
  for (int i : withNeighbours(before_.graph, change.before)) {
    if (changes_.kept.contains(i)) result.push_back(i);
  }
  return result;
}

Expected<std::pair<Model, Model>> Sites::cut(const Change& change, bool inContext) const {
  std::vector<int> before = change.before, after = change.after;
  for (int i : inContext ? neighbours(change) : std::vector<int>()) {
    before.push_back(i);
    after.push_back(changes_.kept.at(i));
  }
  Part old = partOf(before_.graph, types_, before), now = partOf(after_.graph, types_, after);
  unite(old.inputs, now.inputs);
  unite(old.outputs, now.outputs);
  auto first = extract(before_, types_, old);
  if (!first) return tl::unexpected(first.error());
  auto second = extract(after_, types_, now);
  if (!second) return tl::unexpected(second.error());
  return std::pair{std::move(*first), std::move(*second)};
}

}  // namespace pet::bench
