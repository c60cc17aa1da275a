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
Reserve reserve;

void giveBack() {
  std::free(reserve.kept.exchange(nullptr));
  if (reserve.before) return reserve.before();
  throw std::bad_alloc();
}

}  // namespace

MemoryReserve::MemoryReserve() {
  const std::lock_guard lock(reserve.mutex);
  if (reserve.living++ == 0) reserve.before = std::set_new_handler(giveBack);
  if (!reserve.kept) reserve.kept = std::malloc(kBytes);
}

MemoryReserve::~MemoryReserve() {
  const std::lock_guard lock(reserve.mutex);
  if (--reserve.living > 0) return;
  if (std::get_new_handler() == giveBack) std::set_new_handler(reserve.before);
  std::free(reserve.kept.exchange(nullptr));
}

}  // namespace pet::tool
