#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "runtime/cuda/host/host_device.h"

namespace pet::cuda {

/// The streams of the host's device: what they are given waits until run(), and is then done in the order that is asked
/// for, as far as marks allow. Forward, stream 0 goes first, so that the others are as late as they can be; backward,
/// it goes last; shuffled, each time another one.
class Queues {
 public:
  Queues(int streams, ThreadOrder order) : waiting_(static_cast<size_t>(streams)), order_(order) {}

  // As Device has them.
  void use(int stream) { used_ = static_cast<size_t>(stream); }
  void mark(int name) { add({used_, nullptr, name, kNone}); }
  void await(int name) { add({used_, nullptr, kNone, name}); }
  void add(std::function<void()> work) { add({used_, std::move(work), kNone, kNone}); }

  /// All that waits. What throws ends it, and what is left is gone.
  void run();

  /// Work, or the name of a mark that is made or awaited.
  struct Entry {
    size_t stream = 0;
    std::function<void()> work;
    int mark = kNone, await = kNone;
  };
  /// What `calls` adds, which does not wait here now; add() it, in this order.
  std::vector<Entry> recorded(const std::function<void()>& calls);
  void add(Entry entry);

 private:
  static constexpr int kNone = -1;
  struct Waiting {
    std::function<void()> work;
    int64_t made = 0, awaited = 0;  ///< numbers of marks; 0: none
  };
  bool isReady(size_t stream) const;
  void runFrom(size_t stream);
  bool runNext();

  std::vector<std::deque<Waiting>> waiting_;  ///< per stream
  ThreadOrder order_;
  std::mt19937 random_{1};
  size_t used_ = 0;
  std::vector<Entry>* record_ = nullptr;
  int64_t marks_ = 0;                ///< that were added
  std::map<int, int64_t> latest_;    ///< by name
  std::vector<bool> isMade_{false};  ///< per mark
};

}  // namespace pet::cuda
