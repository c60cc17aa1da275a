#pragma once

#include <vector>

namespace pet::runner {

/// The CPUs that this process may use, and a hold on as many as a measurement has threads.
class Affinity {
 public:
  /// `cpu`: the one for a single thread; below 0: the highest.
  explicit Affinity(int cpu);
  void hold(int threads = 1) const;

 private:
  std::vector<int> allowed_;
  int cpu_ = -1;
};

/// Writes a buffer of twice the last-level cache, so that weights come from memory at the next run.
class CacheFlush {
 public:
  CacheFlush();
  void operator()();

 private:
  std::vector<long> buffer_;
};

}  // namespace pet::runner
