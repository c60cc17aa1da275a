#pragma once

#include <string>

#include <tl/expected.hpp>

#include "applier/onnx/bytes.h"

namespace pet {

/// What mapFile() says of a file that is neither a regular file nor a folder; else its errors are errno's.
constexpr int kNotRegular = -1;

/// The bytes of a regular file, mapped: nothing is read before it is looked at, and nothing is copied. They stay as
/// they are if the file is replaced or removed. A file that is cut short while it is mapped ends the process (SIGBUS),
/// as with every program that maps files.
tl::expected<Bytes, int> mapFile(const std::string& path);

/// The same of an open file, which may be closed then.
tl::expected<Bytes, int> mapOpenFile(int fd);

/// Lets go of the memory behind bytes of mapFile(): they are read from the file again when they are looked at again.
void dropPages(std::string_view mapped);

}  // namespace pet
