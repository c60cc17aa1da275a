#include "synth/free/partners.h"

#include <algorithm>

namespace pet::freemode {

PartnerIndex::PartnerIndex(const ClassTable& t)
    : t_(t), fits_(t.types.size() * t.types.size()), containing_(t.size() + 1) {
  for (size_t a = 0; a < t.types.size(); ++a) {
    for (size_t b = 0; b < t.types.size(); ++b) {
      const TensorType* operands[] = {&t.types[a], &t.types[b]};
      for (const Step& s : t.steps) {
        if (s.operands != 2 || !resultType(s, operands, t.joins)) continue;
        fits_[a * t.types.size() + b] = fits_[b * t.types.size() + a] = true;
      }
    }
  }
  const size_t largest = t.size();
  for (ClassId c = t.levels[1]; c < t.classes.size(); ++c) {
    if (t.classes[c].node != c) twins_.emplace(t.classes[c].node, c);
    size_t size = t.classes[c].size;
    // Two graphs that share some operators, and not all of either, have two at least.
    if (size < 2 || size >= largest) continue;
    auto& lists = containing_[size];
    if (lists.empty()) lists.resize(t.levels[size + 1]);
    for (const Member& m : t.membersOf(c)) {
      for (size_t i = 0; i < m.nodes.size; ++i) {
        auto& list = lists[m.nodes.nodes[i]];
        if (list.empty() || list.back() != c) list.push_back(c);
      }
    }
  }
}

void PartnerIndex::addContained(ClassId a, std::vector<ClassId>& partners) const {
  for (const Member& m : t_.membersOf(a)) {
    for (size_t i = 0; i < m.nodes.size; ++i) {
      auto twin = twins_.find(m.nodes.nodes[i]);
      for (ClassId b : {m.nodes.nodes[i], twin == twins_.end() ? a : twin->second}) {
        bool once = t_.classes[b].size < t_.classes[a].size || b < a;
        if (b != a && once && fits(a, b)) partners.push_back(b);
      }
    }
  }
}

void PartnerIndex::addOverlapping(ClassId a, size_t size, std::vector<ClassId>& partners) const {
  if (containing_[size].empty()) return;
  for (const Member& m : t_.membersOf(a)) {
    for (size_t i = 0; i < m.nodes.size; ++i) {
      if (m.nodes.nodes[i] >= containing_[size].size()) continue;  // the end of a larger graph
      for (ClassId b : containing_[size][m.nodes.nodes[i]]) {
        bool once = size < t_.classes[a].size || b < a;
        if (once && fits(a, b) && t_.unionSize(a, b) == t_.size()) partners.push_back(b);
      }
    }
  }
}

void PartnerIndex::partnersOf(ClassId a, std::vector<ClassId>& partners) const {
  partners.clear();
  const size_t largest = t_.size(), size = t_.classes[a].size;
  if (size == largest) {
    for (ClassId b = 0; b < t_.levels[1] && b <= a; ++b) {
      if ((b != a || !t_.distinctOperands) && fits(a, b)) partners.push_back(b);
    }
    addContained(a, partners);
    if (size > 0 && !t_.distinctOperands && fits(a, a)) partners.push_back(a);
  }
  for (size_t other = 1; size < largest && other <= size; ++other) {
    if (size + other < largest) continue;
    if (size + other > largest) {
      addOverlapping(a, other, partners);
      continue;
    }
    for (ClassId b = t_.levels[other]; b < std::min(t_.levels[other + 1], a); ++b) {
      if (fits(a, b) && t_.unionSize(a, b) == largest) partners.push_back(b);
    }
  }
  std::sort(partners.begin(), partners.end());
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
}

}  // namespace pet::freemode
