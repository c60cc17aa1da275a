#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"

namespace pet {

/// The bytes of a file. Errors (of the given kind): missing, unreadable, a directory.
Expected<std::string> readFile(const std::string& path, ErrorKind kind);

/// The first bytes of a file, and how many it has.
struct FileStart {
  std::string bytes;
  size_t size = 0;
  bool isRegular = false;  ///< else nothing was read
};
/// The same errors.
Expected<FileStart> readStart(const std::string& path, size_t most, ErrorKind kind);

/// Refuses what writeFile() would refuse whatever the bytes: a folder, a file in a folder that does not exist or may
/// not be written to. For tools that work for minutes before they write. Errors: kUsage, with the system's reason.
Expected<void> checkWritable(const std::string& path);

/// Writes beside `path`, flushes to the disk and renames: `path` holds the old bytes or all of the new ones, never a
/// part, and a failure leaves nothing behind. A symbolic link is followed; a device or a pipe is written in place.
/// Errors: kUsage, with the system's reason.
Expected<void> writeFile(const std::string& path, std::string_view bytes);

}  // namespace pet
