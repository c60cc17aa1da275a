#include "applier/match/precedence.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>

namespace pet {

Precedence::Precedence(const Graph& graph, const View& view)
    : later_(view.program.nodes().size() + graph.nodes.size()) {
  const auto& nodes = view.program.nodes();
  std::vector<std::vector<int>> parts(graph.nodes.size());  // of the view
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    for (Value v : nodes[static_cast<size_t>(i)].operands)
      later_[static_cast<size_t>(v.node)].push_back(i);
    if (int origin = view.provenance[static_cast<size_t>(i)].origin; origin >= 0)
      parts[static_cast<size_t>(origin)].push_back(i);
  }
  auto anyReads = [&](const std::vector<int>& some, int node) {
    return std::any_of(some.begin(), some.end(), [&](int i) {
      const auto& operands = nodes[static_cast<size_t>(i)].operands;
      return std::any_of(operands.begin(), operands.end(), [&](Value v) { return v.node == node; });
    });
  };
  std::unordered_map<std::string, int> inView, outside;
  for (const auto& [value, name] : view.names)
    inView.emplace(name, value.node);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    int self = static_cast<int>(nodes.size() + n);
    if (!parts[n].empty()) continue;
    for (const std::string& name : graph.nodes[n].outputs) {
      outside.emplace(name, self);
      if (auto input = inView.find(name); input != inView.end())
        later_[static_cast<size_t>(self)].push_back(input->second);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    bool known = !parts[n].empty();
    for (const std::string& name : readsOf(graph.nodes[n])) {
      auto here = inView.find(name), there = outside.find(name);
      if (here != inView.end()) {
        const int node = here->second;
        if (!known) later_[static_cast<size_t>(node)].push_back(static_cast<int>(nodes.size() + n));
        // Of a node in the view: sizes that only its ONNX node reads.
        if (known && !isComputed(view.elements[static_cast<size_t>(node)]) && !anyReads(parts[n], node)) {
          for (int part : parts[n])
            later_[static_cast<size_t>(node)].push_back(part);
        }
      } else if (there != outside.end()) {
        // Of a node in the view: an operand that was folded away there, and is read all the same.
        for (int part : known ? parts[n] : std::vector<int>{static_cast<int>(nodes.size() + n)})
          later_[static_cast<size_t>(there->second)].push_back(part);
      }
    }
  }
  rank_.resize(later_.size());
  int rank = 0;
  for (int node : order({}))
    rank_[static_cast<size_t>(node)] = rank++;
}

/// A path from outside of the group leads into it that began in it.
bool Precedence::comesBack(const std::vector<int>& group) const {
  std::set<int> inside(group.begin(), group.end()), seen;
  int last = 0;
  for (int n : group)
    last = std::max(last, rank_[static_cast<size_t>(n)]);
  std::vector<int> open;
  auto leave = [&](int from, bool isInside) {
    for (int next : later_[static_cast<size_t>(from)]) {
      if (inside.contains(next)) {
        if (!isInside) return false;
      } else if (rank_[static_cast<size_t>(next)] < last && seen.insert(next).second) {
        open.push_back(next);
      }
    }
    return true;
  };
  for (int n : group)
    leave(n, true);
  while (!open.empty()) {
    int now = open.back();
    open.pop_back();
    if (!leave(now, false)) return true;
  }
  return false;
}

/// The steps in an order in which none waits for a later one, as far as there is one.
std::vector<int> Precedence::order(const std::vector<std::vector<int>>& groups) const {
  std::vector<int> step(later_.size());  // a group's first node stands for all
  std::vector<std::vector<int>> members(later_.size());
  for (size_t i = 0; i < later_.size(); ++i)
    step[i] = static_cast<int>(i);
  for (const auto& group : groups) {
    for (int n : group)
      step[static_cast<size_t>(n)] = group[0];
  }
  std::vector<int> waits(later_.size());
  for (size_t i = 0; i < later_.size(); ++i) {
    members[static_cast<size_t>(step[i])].push_back(static_cast<int>(i));
    for (int next : later_[i])
      waits[static_cast<size_t>(step[static_cast<size_t>(next)])] += step[static_cast<size_t>(next)] != step[i];
  }
  std::vector<int> ready;
  for (size_t i = 0; i < later_.size(); ++i) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::vector<int> done;
  while (!ready.empty()) {
    auto now = static_cast<size_t>(ready.back());
    ready.pop_back();
    done.push_back(static_cast<int>(now));
    for (int member : members[now]) {
      for (int next : later_[static_cast<size_t>(member)]) {
        int to = step[static_cast<size_t>(next)];
        if (to != static_cast<int>(now) && --waits[static_cast<size_t>(to)] == 0) ready.push_back(to);
      }
    }
  }
  return done;
}

/// A path that leaves the group, maybe through other groups, leads back into it. From beyond `last` none does.
bool Steps::comesBack(const std::vector<int>& group, int last) const {
  const std::set<int> inside(group.begin(), group.end());
  std::set<int> seen;
  std::vector<int> open = group;
  // A node stands for all of its group.
  auto enter = [&](int node) {
    auto of = groupOf_.find(node);
    for (int n : of == groupOf_.end() ? std::vector<int>{node} : groups_[of->second]) {
      if (seen.insert(n).second) open.push_back(n);
    }
  };
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    const bool isInside = inside.contains(now);
    for (int next : precedence_.later_[static_cast<size_t>(now)]) {
      if (inside.contains(next)) {
        if (!isInside) return true;
      } else if (precedence_.rank_[static_cast<size_t>(next)] <= last) {
        enter(next);
      }
    }
  }
  return false;
}

bool Steps::add(const std::vector<int>& group) {
  int first = std::numeric_limits<int>::max(), last = 0;
  for (int n : group) {
    first = std::min(first, precedence_.rank_[static_cast<size_t>(n)]);
    last = std::max(last, precedence_.rank_[static_cast<size_t>(n)]);
  }
  // Every other group lies within one of these or outside of all: a path that has left them does not come back.
  auto at = reach_.upper_bound(last);
  const int end = at == reach_.begin() ? last : std::max(last, std::prev(at)->second);
  if (comesBack(group, end)) return false;
  for (at = reach_.upper_bound(last); at != reach_.begin() && std::prev(at)->second >= first;) {
    --at;
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = reach_.erase(at);
  }
  reach_[first] = last;
  for (int n : group)
    groupOf_[n] = groups_.size();
  groups_.push_back(group);
  return true;
}

bool Precedence::allows(const std::vector<std::vector<int>>& groups) const {
  if (groups.empty()) return true;
  return groups.size() == 1 ? !comesBack(groups[0]) : order(groups).size() == later_.size();
}

}  // namespace pet
