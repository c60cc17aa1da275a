#include "applier/onnx/mapping.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pet {

tl::expected<Bytes, int> mapOpenFile(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return tl::unexpected(errno);
  if (S_ISDIR(info.st_mode)) return tl::unexpected(EISDIR);
  if (!S_ISREG(info.st_mode)) return tl::unexpected(kNotRegular);
  auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return Bytes(std::string());
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return tl::unexpected(errno);
  std::shared_ptr<const void> owner(memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Bytes({static_cast<const char*>(memory), size}, std::move(owner), true);
}

tl::expected<Bytes, int> mapFile(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe nobody writes to would keep us waiting
  if (fd < 0) return tl::unexpected(errno);
  auto bytes = mapOpenFile(fd);
  ::close(fd);
  return bytes;
}

void dropPages(std::string_view mapped) {
  static const auto kPage = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<uintptr_t>(mapped.data()) / kPage * kPage;
  auto end = (reinterpret_cast<uintptr_t>(mapped.data()) + mapped.size() + kPage - 1) / kPage * kPage;
  if (!mapped.empty()) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace pet
