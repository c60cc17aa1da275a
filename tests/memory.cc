// libpet_memory.so, loaded before a tool or a Python module, lets memory run out, so that tests can try any moment of
// it. What a program allocates before main() is none of it.
//
//   PET_MEMORY=N       no more than so many bytes are in use at a time
//   PET_ALLOCATION=N   the N-th allocation fails, and no other
//   PET_USED=FILE      the most bytes that were in use, and how many allocations there were, when main() returns

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <malloc.h>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

constexpr int64_t kNever = INT64_MAX;

std::atomic<int64_t> failing = kNever, count = 0;
std::atomic<int64_t> used = 0, limit = kNever, peak = 0;  // bytes

bool fits(int64_t size) {
  if (++count != failing && used + size <= limit) return true;
  errno = ENOMEM;
  return false;
}

void* counted(void* memory) {
  const int64_t now = used += static_cast<int64_t>(malloc_usable_size(memory));
  if (now > peak) peak = now;
  return memory;
}

}  // namespace

extern "C" {

/// From now on, so many bytes may come on top of those in use, and the `number`-th allocation fails; below 0, neither.
[[gnu::visibility("default")]] void petLimitMemory(int64_t bytes, int64_t number) {
  limit = failing = kNever;
  count = 0;
  peak = used.load();
  if (bytes >= 0) limit = used + bytes;
  if (number >= 0) failing = number;
}

[[gnu::visibility("default")]] void* malloc(size_t size) {
  return fits(static_cast<int64_t>(size)) ? counted(__libc_malloc(size)) : nullptr;
}

[[gnu::visibility("default")]] void* calloc(size_t number, size_t size) {
  return fits(static_cast<int64_t>(number * size)) ? counted(__libc_calloc(number, size)) : nullptr;
}

[[gnu::visibility("default")]] void* realloc(void* old, size_t size) {
  const auto before = static_cast<int64_t>(malloc_usable_size(old));
  if (!fits(static_cast<int64_t>(size) - before)) return nullptr;
  used -= before;
  return counted(__libc_realloc(old, size));
}

[[gnu::visibility("default")]] void* memalign(size_t alignment, size_t size) {
  return fits(static_cast<int64_t>(size)) ? counted(__libc_memalign(alignment, size)) : nullptr;
}

[[gnu::visibility("default")]] void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

[[gnu::visibility("default")]] int posix_memalign(void** result, size_t alignment, size_t size) {
  void* found = memalign(alignment, size);
  if (!found) return ENOMEM;
  *result = found;
  return 0;
}

[[gnu::visibility("default")]] void free(void* memory) {
  used -= static_cast<int64_t>(malloc_usable_size(memory));
  __libc_free(memory);
}

// --- A tool's main() ---

using Main = int (*)(int, char**, char**);

namespace {

Main tool;

int64_t numberIn(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : -1;
}

int limited(int argc, char** argv, char** environment) {
  const char* file = std::getenv("PET_USED");
  const int64_t before = used;
  petLimitMemory(numberIn("PET_MEMORY"), numberIn("PET_ALLOCATION"));
  const int status = tool(argc, argv, environment);
  const long long most = peak - before, allocations = count;
  petLimitMemory(-1, -1);
  if (FILE* out = file ? std::fopen(file, "w") : nullptr) {
    std::fprintf(out, "%lld %lld\n", most, allocations);
    std::fclose(out);
  }
  return status;
}

}  // namespace

[[gnu::visibility("default")]] int __libc_start_main(
    Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*unload)(), void* stack) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  tool = main;
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(limited, argc, argv, init, fini, unload, stack);
}
}
