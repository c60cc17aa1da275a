#include "applier/onnx/output.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "applier/onnx/mapping.h"

namespace pet {
namespace {

namespace fs = std::filesystem;

/// An open file that is written front to back.
class OutputFile {
 public:
  explicit OutputFile(int fd) : fd_(fd) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { close(); }

  /// `digest` may be null. Of a mapped value no more than a chunk stays in memory.
  int write(const std::vector<FilePiece>& pieces, ContentDigest* digest) {
    for (const FilePiece& piece : pieces) {
      if (int error = put(piece.text, digest)) return error;
      std::string_view value = *piece.value;
      for (; !value.empty(); value.remove_prefix(std::min(value.size(), kChunk))) {
        std::string_view chunk = value.substr(0, kChunk);
        if (int error = put(chunk, digest)) return error;
        if (piece.value.mapped()) dropPages(chunk);
      }
    }
    return flush();
  }

  /// Some file systems report a full disk only when flushing or closing.
  int syncAndClose() {
    int error = ::fsync(fd_) != 0 && errno != EINVAL ? errno : 0;
    int closing = close();
    return error ? error : closing;
  }

 private:
  static constexpr size_t kChunk = size_t{1} << 23;
  static constexpr size_t kBuffer = size_t{1} << 16;

  int put(std::string_view bytes, ContentDigest* digest) {
    if (digest) digest->add(bytes);
    if (buffer_.size() + bytes.size() > kBuffer) {
      if (int error = flush()) return error;
    }
    if (bytes.size() > kBuffer) return writeAll(bytes);
    buffer_ += bytes;
    return 0;
  }

  int flush() {
    int error = writeAll(buffer_);
    buffer_.clear();
    return error;
  }

  int writeAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : EIO;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return 0;
  }

  int close() {
    int fd = std::exchange(fd_, -1);
    return fd >= 0 && ::close(fd) != 0 ? errno : 0;
  }

  int fd_;
  std::string buffer_;
};

}  // namespace

ContentDigest::ContentDigest() {
  [[maybe_unused]] int faster = ::sodium_init();  // it chooses the code, not the digest
  crypto_generichash_init(&hash_, nullptr, 0, crypto_generichash_BYTES);
}

void ContentDigest::add(std::string_view bytes) {
  crypto_generichash_update(&hash_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string ContentDigest::hex() {
  unsigned char bytes[crypto_generichash_BYTES];
  crypto_generichash_final(&hash_, bytes, sizeof bytes);
  char text[2 * sizeof bytes + 1];
  return sodium_bin2hex(text, sizeof text, bytes, sizeof bytes);
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

int TemporaryFile::write(const fs::path& target,
                         mode_t mode,
                         const std::vector<FilePiece>& pieces,
                         ContentDigest* digest) {
  for (int attempt = 0;; ++attempt) {
    fs::path beside = target;
    beside.replace_filename(fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt));
    int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST && attempt < 100) continue;
    if (fd < 0) return errno;
    path_ = beside;
    OutputFile out(fd);
    int error = out.write(pieces, digest);
    return error ? error : out.syncAndClose();
  }
}

int TemporaryFile::moveTo(const fs::path& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
  path_.clear();
  return 0;
}

int writeInPlace(const fs::path& path, const std::vector<FilePiece>& pieces) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  OutputFile out(fd);
  int error = out.write(pieces, nullptr);
  return error ? error : out.syncAndClose();
}

void syncFolder(const fs::path& file) {
  const fs::path folder = file.parent_path();
  int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace pet
