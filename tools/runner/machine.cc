#include "tools/runner/machine.h"

#include <algorithm>

#include <sched.h>

#include "runtime/this_machine.h"

namespace pet::runner {
namespace {

/// Bytes; at least 32 MB, where nothing is known.
size_t lastLevelCache() {
  const Machine machine = thisMachine();
  return static_cast<size_t>(std::max({int64_t{32} << 20, machine.l2, machine.l3}));
}

}  // namespace

Affinity::Affinity(int cpu) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) allowed_.push_back(i);
  }
  if (std::find(allowed_.begin(), allowed_.end(), cpu) != allowed_.end()) cpu_ = cpu;
}

void Affinity::hold(int threads) const {
  if (allowed_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (threads == 1 && cpu_ >= 0) {
    CPU_SET(cpu_, &set);
  } else {
    size_t count = std::min(allowed_.size(), static_cast<size_t>(threads));
    for (size_t i = allowed_.size() - count; i < allowed_.size(); ++i)
      CPU_SET(allowed_[i], &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

CacheFlush::CacheFlush() : buffer_(2 * lastLevelCache() / sizeof(long)) {}

void CacheFlush::operator()() {
  for (long& x : buffer_)
    ++x;
  asm volatile("" : : "g"(buffer_.data()) : "memory");
}

}  // namespace pet::runner
