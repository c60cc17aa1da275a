#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/common/status_line.h"

namespace pet::tool {

struct Workers {
  unsigned threads = 1;
  bool quiet = false;  ///< no progress
};

/// answer(0), …, answer(count - 1), in this order, from several threads, with progress: name(i) is what is done.
template <class Answer, class Name>
auto inParallel(const char* what, size_t count, const Workers& workers, Answer answer, Name name) {
  std::vector<decltype(answer(size_t{}))> answers(count);
  Progress progress(what, count, workers.quiet);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      answers[i] = answer(i);
      std::lock_guard lock(mutex);
      progress.step(name(i));
    }
  };
  std::vector<std::jthread> pool;
  for (size_t t = 1; t < std::min<size_t>(workers.threads, count); ++t)
    pool.emplace_back(work);
  work();
  pool.clear();
  return answers;
}

}  // namespace pet::tool
