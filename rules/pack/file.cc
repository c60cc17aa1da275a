#include "rules/pack/file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pet {
namespace {

std::string reason(int error) {
  return std::strerror(error);
}

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Some file systems report a full disk only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// False, with errno, if not every byte could be written.
bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

tl::unexpected<Error> cannotWrite(const std::string& path, int error) {
  return fail(ErrorKind::kUsage, "cannot write: " + reason(error), path, "nothing was written");
}

}  // namespace

Expected<std::string> readFile(const std::string& path, ErrorKind kind) {
  Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.valid()) return fail(kind, "cannot read: " + reason(errno), path);
  std::string bytes;
  struct stat info {};
  if (::fstat(in.get(), &info) == 0 && S_ISREG(info.st_mode)) bytes.reserve(static_cast<size_t>(info.st_size));
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(in.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(kind, "cannot read: " + reason(errno), path);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

Expected<FileStart> readStart(const std::string& path, size_t most, ErrorKind kind) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(kind, "cannot read: " + reason(errno), path);
  if (S_ISDIR(info.st_mode)) return fail(kind, "cannot read: " + reason(EISDIR), path);
  if (!S_ISREG(info.st_mode)) return FileStart();
  Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FileStart start{std::string(most, '\0'), static_cast<size_t>(info.st_size), true};
  const ssize_t n = in.valid() ? ::read(in.get(), start.bytes.data(), most) : -1;
  if (n < 0) return fail(kind, "cannot read: " + reason(errno), path);
  start.bytes.resize(static_cast<size_t>(n));
  return start;
}

Expected<void> checkWritable(const std::string& path) {
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return cannotWrite(path, EISDIR);
  bool inPlace = exists && !S_ISREG(info.st_mode);
  std::error_code ignored;
  auto folder = (exists ? std::filesystem::canonical(path, ignored) : std::filesystem::path(path)).parent_path();
  const std::string target = inPlace ? path : folder.empty() ? "." : folder.string() + "/";
  if (::access(target.c_str(), inPlace ? W_OK : W_OK | X_OK) != 0) return cannotWrite(path, errno);
  return {};
}

Expected<void> writeFile(const std::string& path, std::string_view bytes) {
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return cannotWrite(path, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!out.valid() || !writeAll(out.get(), bytes) || !out.close()) return cannotWrite(path, errno);
    return {};
  }
  std::error_code ignored;
  auto target = exists ? std::filesystem::canonical(path, ignored) : std::filesystem::path(path);
  if (target.empty()) target = path;
  for (int attempt = 0;; ++attempt) {
    auto beside = target;
    beside.replace_filename(fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt));
    Descriptor out(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!out.valid() && errno == EEXIST && attempt < 100) continue;
    if (!out.valid()) return cannotWrite(path, errno);
    bool written = (!exists || ::fchmod(out.get(), info.st_mode & 07777) == 0) && writeAll(out.get(), bytes) &&
                   ::fsync(out.get()) == 0 && out.close() && ::rename(beside.c_str(), target.c_str()) == 0;
    if (written) return {};
    int error = errno;
    ::unlink(beside.c_str());
    return cannotWrite(path, error);
  }
}

}  // namespace pet
