#include "runtime/cuda/order.h"

#include <algorithm>
#include <set>

#include "runtime/plan/covered.h"

namespace pet::cuda {
namespace {

/// What a step reads or writes of a root buffer.
struct Use {
  int step;
  bool writes;
  int64_t begin, end;
  Access access;  ///< of rank 0: all from `begin` to `end`
};

bool meet(const Use& a, const Use& b) {
  if (a.end <= b.begin || b.end <= a.begin) return false;
  if (a.access.rank() == 0 || b.access.rank() == 0) return true;
  Covered covered(std::max(a.end, b.end));
  covered.add(a.access);
  return covered.meets(b.access);
}

class Uses {
 public:
  explicit Uses(const Planner& planner) : p_(planner), ofRoot_(planner.buffers.size()) {}

  std::vector<int> before(int s, const CallStep& step) {
    std::set<int> found;
    const auto& arguments = step.arguments();
    const auto& results = step.written();
    for (size_t i = results.size(); i < arguments.size(); ++i)
      add(read(s, arguments[i].buffer), p_.root(arguments[i].buffer), found);
    for (size_t i = 0; i < results.size(); ++i)
      add(written(s, arguments[i].buffer, results[i]), p_.root(arguments[i].buffer), found);
    found.erase(s);
    return {found.begin(), found.end()};
  }

 private:
  const Buffer& buffer(int b) const { return p_.buffers[static_cast<size_t>(b)]; }
  /// Where a buffer begins in its root.
  int64_t startOf(int b) const {
    int64_t start = 0;
    for (; buffer(b).parent >= 0; b = buffer(b).parent)
      start += buffer(b).offset;
    return start;
  }

  Use read(int s, int b) const {
    const int64_t start = startOf(b);
    return {s, false, start, start + buffer(b).elements, {}};
  }
  Use written(int s, int b, const Access& access) const {
    Access there = access;
    there.offset += startOf(b);
    const int64_t begin = there.offset, end = begin + reach(there);
    return {s, true, begin, end, isDense(there) ? Access() : std::move(there)};
  }

  void add(Use use, int root, std::set<int>& found) {
    const auto kind = buffer(root).kind;
    if (kind == Buffer::Kind::kInput || kind == Buffer::Kind::kConstant) return;  // nothing writes there
    auto& uses = ofRoot_[static_cast<size_t>(root)];
    for (const Use& other : uses) {
      if ((use.writes || other.writes) && meet(use, other)) found.insert(other.step);
    }
    const bool isAll = use.writes && use.access.rank() == 0 && use.begin == 0 && use.end == buffer(root).elements;
    if (isAll) std::erase_if(uses, [&](const Use& other) { return other.step != use.step; });
    uses.push_back(std::move(use));
  }

  const Planner& p_;
  std::vector<std::vector<Use>> ofRoot_;
};

}  // namespace

std::optional<std::vector<std::vector<int>>> dependencies(const Planner& planner) {
  Uses uses(planner);
  std::vector<std::vector<int>> before;
  for (const auto& step : planner.steps) {
    const auto* call = dynamic_cast<const CallStep*>(step.get());
    if (!call) return std::nullopt;
    before.push_back(uses.before(static_cast<int>(before.size()), *call));
  }
  return before;
}

}  // namespace pet::cuda
