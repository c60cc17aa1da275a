#include "tools/tune/cliffs/groups.h"

#include <algorithm>
#include <set>

namespace pet::tune {
namespace {

using Nodes = std::vector<int>;

constexpr size_t kMost = 200'000;   ///< groups of one model
constexpr size_t kMostReaders = 8;  ///< of a value that joins nodes to a group
constexpr int kFarthest = 400;      ///< from the first node of a group to its last, in the order of the graph

bool contains(const Nodes& sorted, int node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

Nodes with(Nodes sorted, int node) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), node), node);
  return sorted;
}

/// The mined nodes that a node takes a value from or hands one on to.
Nodes neighboursOf(const Subject& subject, int n) {
  Nodes near;
  auto add = [&](int other) {
    if (other >= 0 && subject.node(other).mined) near.push_back(other);
  };
  for (int v : subject.node(n).operands) {
    if (v >= 0 && !subject.value(v).constant && subject.value(v).readers.size() <= kMostReaders)
      add(subject.value(v).producer);
  }
  for (int v : subject.node(n).results) {
    if (v < 0 || subject.value(v).readers.size() > kMostReaders) continue;
    std::for_each(subject.value(v).readers.begin(), subject.value(v).readers.end(), add);
  }
  return near;
}

/// No path from a node of the group to another one leads through nodes outside.
bool isConvex(const Subject& subject, const Nodes& group) {
  if (group.back() - group.front() > kFarthest) return false;
  std::set<int> behind;  // outside, and needs a result of the group
  for (int n = group.front() + 1; n <= group.back(); ++n) {
    const bool isInside = contains(group, n);
    for (int v : subject.node(n).operands) {
      const int from = v < 0 ? -1 : subject.value(v).producer;
      if (from < group.front()) continue;
      if (behind.contains(from) && isInside) return false;
      if (!isInside && (behind.contains(from) || contains(group, from))) behind.insert(n);
    }
  }
  return true;
}

}  // namespace

Groups groupsOf(const Subject& subject, size_t size) {
  Groups found;
  std::set<Nodes> level;
  std::vector<Nodes> near(subject.nodes().size());
  for (int n = 0; n < static_cast<int>(subject.nodes().size()); ++n) {
    if (!subject.node(n).mined) continue;
    near[static_cast<size_t>(n)] = neighboursOf(subject, n);
    level.insert({n});
  }
  for (size_t count = 2; count <= size && found.complete; ++count) {
    std::set<Nodes> next;
    for (const Nodes& group : level) {
      for (int member : group) {
        for (int n : near[static_cast<size_t>(member)]) {
          if (contains(group, n)) continue;
          Nodes larger = with(group, n);
          if (!next.contains(larger) && isConvex(subject, larger)) next.insert(std::move(larger));
        }
      }
      found.complete = found.nodes.size() + next.size() <= kMost;
      if (!found.complete) break;
    }
    std::copy_if(next.begin(), next.end(), std::back_inserter(found.nodes), [&](const Nodes& group) {
      return std::count_if(group.begin(), group.end(), [&](int n) { return !subject.node(n).free; }) >= 2;
    });
    level = std::move(next);
  }
  return found;
}

}  // namespace pet::tune
