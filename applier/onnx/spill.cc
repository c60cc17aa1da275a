#include "applier/onnx/spill.h"

#include <fcntl.h>
#include <unistd.h>

#include "applier/onnx/mapping.h"

namespace pet {
namespace {

constexpr size_t kLeastSpilled = size_t{1} << 18;  ///< bytes that are worth a file

bool writeWhole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

KeepBytes keepInFolder(const std::string& folder) {
  return [folder](Bytes bytes) {
    if (!bytes || bytes.mapped() || bytes->size() < kLeastSpilled) return bytes;
    int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return bytes;
    auto spilled = writeWhole(fd, *bytes) ? mapOpenFile(fd) : tl::unexpected(-1);
    ::close(fd);
    return spilled.value_or(bytes);
  };
}

}  // namespace pet
