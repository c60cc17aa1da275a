#include "runtime/cuda/join.h"

#include <algorithm>

#include "runtime/cuda/order.h"

namespace pet::cuda {
namespace {

constexpr size_t kMostJoined = 16;

bool isCopy(const CallStep& step) {
  return step.points().size() == 1 && step.points()[0].from.size() == 1 && step.points()[0].value == "x0";
}

/// Both read one buffer, or write to one.
bool shareTensor(const Planner& p, const CallStep& copies, const CallStep& copy) {
  const auto& these = copies.arguments();
  const size_t results = copies.written().size();
  for (size_t i = 0; i < these.size(); ++i) {
    const int other = copy.arguments()[i < results ? 0 : 1].buffer;
    if (p.root(these[i].buffer) == p.root(other)) return true;
  }
  return false;
}

}  // namespace

void joinCopies(Planner& p) {
  const auto before = dependencies(p);
  if (!before) return;
  std::vector<size_t> copies;  // that may be joined with later ones, each where its first one is
  for (size_t s = 0; s < p.steps.size(); ++s) {
    auto& step = static_cast<CallStep&>(*p.steps[s]);
    if (!isCopy(step)) continue;
    const int last = (*before)[s].empty() ? -1 : (*before)[s].back();
    const auto with = std::find_if(copies.rbegin(), copies.rend(), [&](size_t c) {
      const auto& others = static_cast<const CallStep&>(*p.steps[c]);
      return static_cast<int>(c) > last && others.written().size() < kMostJoined && shareTensor(p, others, step);
    });
    if (with == copies.rend() || step.elementsWritten() >= p.device().threads()) {
      copies.push_back(s);
      continue;
    }
    static_cast<CallStep&>(*p.steps[*with]).join(std::move(step));
    p.steps[s].reset();
  }
  std::erase(p.steps, nullptr);
}

}  // namespace pet::cuda
