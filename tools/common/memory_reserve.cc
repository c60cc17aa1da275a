#include "tools/common/memory_reserve.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

namespace pet::tool {
namespace {

constexpr size_t kBytes = 256 << 10;

struct Reserve {
  std::mutex mutex;                   ///< of the count and the handler
  int living = 0;                     ///< MemoryReserves
  std::new_handler before = nullptr;  ///< that there was before the first of them
  std::atomic<void*> kept = nullptr;
};
Reserve ofProcess;

void giveBack() {
  std::free(ofProcess.kept.exchange(nullptr));
  if (ofProcess.before) return ofProcess.before();
  throw std::bad_alloc();
}

}  // namespace

MemoryReserve::MemoryReserve() {
  const std::lock_guard lock(ofProcess.mutex);
  if (ofProcess.living++ == 0) ofProcess.before = std::set_new_handler(giveBack);
  if (!ofProcess.kept) ofProcess.kept = std::malloc(kBytes);
}

MemoryReserve::~MemoryReserve() {
  const std::lock_guard lock(ofProcess.mutex);
  if (--ofProcess.living > 0) return;
  if (std::get_new_handler() == giveBack) std::set_new_handler(ofProcess.before);
  std::free(ofProcess.kept.exchange(nullptr));
}

}  // namespace pet::tool
