#include "runtime/cuda/host/queues.h"

#include <stdexcept>

namespace pet::cuda {

void Queues::add(Entry entry) {
  if (record_) return record_->push_back(std::move(entry));
  Waiting waiting{std::move(entry.work), 0, 0};
  if (entry.await != kNone) {
    const auto found = latest_.find(entry.await);
    if (found == latest_.end()) throw std::logic_error("a mark is awaited that was never made");
    waiting.awaited = found->second;
  }
  if (entry.mark != kNone) {
    waiting.made = latest_[entry.mark] = ++marks_;
    isMade_.push_back(false);
  }
  waiting_[entry.stream].push_back(std::move(waiting));
}

std::vector<Queues::Entry> Queues::recorded(const std::function<void()>& calls) {
  std::vector<Entry> entries;
  record_ = &entries;
  try {
    calls();
  } catch (...) {
    record_ = nullptr;
    throw;
  }
  record_ = nullptr;
  return entries;
}

bool Queues::isReady(size_t stream) const {
  if (waiting_[stream].empty()) return false;
  const int64_t awaited = waiting_[stream].front().awaited;
  return awaited == 0 || isMade_[static_cast<size_t>(awaited)];
}

void Queues::runFrom(size_t stream) {
  const Waiting next = std::move(waiting_[stream].front());
  waiting_[stream].pop_front();
  if (next.work) next.work();
  if (next.made > 0) isMade_[static_cast<size_t>(next.made)] = true;
}

bool Queues::runNext() {
  std::vector<size_t> ready;
  for (size_t k = 0; k < waiting_.size(); ++k) {
    if (isReady(k)) ready.push_back(k);
  }
  if (ready.empty()) return false;
  const size_t shuffled = order_ == ThreadOrder::kShuffled ? random_() % ready.size() : 0;
  runFrom(order_ == ThreadOrder::kBackward ? ready.back() : ready[shuffled]);
  return true;
}

void Queues::run() {
  try {
    while (runNext()) {
    }
  } catch (...) {
    for (auto& stream : waiting_)
      stream.clear();
    throw;
  }
}

}  // namespace pet::cuda
