#include "synth/free/classes.h"

#include <algorithm>
#include <bit>

namespace pet::freemode {

bool NodeSet::contains(ClassId node) const {
  return std::find(nodes.begin(), nodes.begin() + size, node) != nodes.begin() + size;
}

std::optional<NodeSet> unite(const NodeSet& a, const NodeSet& b) {
  NodeSet result;
  size_t i = 0, j = 0;
  while (i < a.size || j < b.size) {
    if (result.size == kMostInner) return std::nullopt;
    ClassId next = j == b.size || (i < a.size && a.nodes[i] <= b.nodes[j]) ? a.nodes[i] : b.nodes[j];
    i += i < a.size && a.nodes[i] == next;
    j += j < b.size && b.nodes[j] == next;
    result.nodes[result.size++] = next;
  }
  return result;
}

std::optional<NodeSet> with(const NodeSet& set, ClassId node) {
  NodeSet one;
  one.nodes[0] = node;
  one.size = 1;
  return unite(set, one);
}

size_t ClassTable::unionSize(ClassId a, ClassId b) const {
  size_t least = std::numeric_limits<size_t>::max();
  for (const Member& m : membersOf(a)) {
    for (const Member& n : membersOf(b)) {
      size_t common = 0;
      for (size_t i = 0; i < m.nodes.size; ++i)
        common += n.nodes.contains(m.nodes.nodes[i]);
      least = std::min(least, m.nodes.size + n.nodes.size - common);
    }
  }
  return least;
}

uint32_t ClassTable::inputsOf(const Application& a) const {
  return classes[a.a].inputs | (a.b == kNoClass ? 0 : classes[a.b].inputs);
}

bool ClassTable::isCanonical(uint32_t inputs) const {
  return std::all_of(lines.begin(), lines.end(), [&](const LeafLine& l) {
    uint64_t read = static_cast<uint64_t>(inputs) >> l.first & ((uint64_t{1} << l.count) - 1);
    return (read & (read + 1)) == 0;
  });
}

uint64_t ClassTable::multiplicity(uint32_t inputs) const {
  uint64_t all = 1;
  for (const LeafLine& l : lines) {
    uint64_t read = static_cast<uint64_t>(inputs) >> l.first & ((uint64_t{1} << l.count) - 1);
    for (uint64_t i = 0, k = static_cast<uint64_t>(std::popcount(read)); i < k; ++i)
      all = all * (l.count - i) / (i + 1);  // binomial: exact at every step
  }
  return all;
}

}  // namespace pet::freemode
