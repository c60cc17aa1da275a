#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "applier/onnx/model.h"

namespace pet {
namespace {

/// Zero, or errno.
int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

/// Some file systems report a full disk only when flushing or closing.
int writeAndClose(int fd, std::string_view bytes) {
  int error = writeAll(fd, bytes);
  if (error == 0 && ::fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

/// A file beside `path`, or the error.
int writeBeside(const std::filesystem::path& path, mode_t mode, std::string_view bytes) {
  for (int attempt = 0;; ++attempt) {
    auto beside = path;
    beside.replace_filename(fmt::format(".{}.{}-{}.tmp", path.filename().string(), ::getpid(), attempt));
    int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST && attempt < 100) continue;
    if (fd < 0) return errno;
    int error = writeAndClose(fd, bytes);
    if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) ::unlink(beside.c_str());
    return error;
  }
}

}  // namespace

Expected<void> writeModel(const std::string& bytes, const std::string& path) {
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  int error = 0;
  if (exists && S_ISDIR(info.st_mode)) {
    error = EISDIR;
  } else if (exists && !S_ISREG(info.st_mode)) {  // a device or a pipe is written in place
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    error = fd < 0 ? errno : writeAndClose(fd, bytes);
  } else {
    std::error_code ignored;
    auto target = exists ? std::filesystem::canonical(path, ignored) : std::filesystem::path(path);
    error =
        writeBeside(target.empty() ? std::filesystem::path(path) : target, exists ? info.st_mode & 0777 : 0666, bytes);
  }
  if (error == 0) return {};
  return fail(ErrorKind::kModel, fmt::format("cannot write the model: {}", std::strerror(error)), path,
              "nothing was written");
}

}  // namespace pet
