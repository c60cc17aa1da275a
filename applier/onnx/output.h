#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sodium.h>
#include <sys/types.h>

#include "applier/onnx/layout.h"

namespace pet {

// Files on their way to a disk. Errors are errno's; 0 is none.

/// BLAKE2b-256 of a stream of bytes.
class ContentDigest {
 public:
  ContentDigest();
  void add(std::string_view bytes);
  /// 64 hexadecimal digits. Ends the digest.
  std::string hex();

 private:
  crypto_generichash_state hash_;
};

/// A file that is removed again, unless it is moved to its place.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::filesystem::path& path() const { return path_; }

  /// Writes a new file beside `target` and flushes it to the disk. `digest` may be null.
  int write(const std::filesystem::path& target,
            mode_t mode,
            const std::vector<FilePiece>& pieces,
            ContentDigest* digest);
  int moveTo(const std::filesystem::path& target);

 private:
  std::filesystem::path path_;
};

/// Writes to a device or a pipe.
int writeInPlace(const std::filesystem::path& path, const std::vector<FilePiece>& pieces);

/// Flushes the names of a file's folder, so that a rename in it is on the disk before the next one; a file system that
/// cannot has another way.
void syncFolder(const std::filesystem::path& file);

}  // namespace pet
