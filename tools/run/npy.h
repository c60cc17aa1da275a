#pragma once

#include <string>

#include "applier/onnx/graph.h"

namespace pet::run {

/// A tensor from a file of numpy's format .npy, versions 1 to 3: bool, integers and floats of the byte order of x86, in
/// row-major or column-major order. kUsage, with the path: unreadable, not such a file, truncated, another type.
Expected<Constant> readNpy(const std::string& path);
/// The same from bytes; `name` stands in errors for the path.
Expected<Constant> parseNpy(std::string_view bytes, const std::string& name);

/// The bytes of such a file, version 1, in row-major order. kUnsupported: a type that numpy has not (bfloat16).
Expected<std::string> npyOf(const Constant& tensor);

}  // namespace pet::run
