#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/onnx/file.h"

namespace pet {

/// Where a model's external data lie.
struct DataPlace {
  std::string model;                            ///< stands in errors
  std::optional<std::filesystem::path> folder;  ///< the only one that data may lie in, with all below it; or none
  std::map<std::string, std::string> instead;   ///< paths of files that are not at their locations yet
};

/// Maps the data of every tensor that keeps its values in a file, wherever in the model it stands, and has the tensor
/// refer to them (refer()). kModel, with tensor and file: a path that is absolute, has a `..` or leads out of the
/// folder through a link; a file that is missing, not a regular one, or too short; a wrong number; another length than
/// extents and element type need; ranges of two tensors that overlap and are not the same.
Expected<void> mapExternalData(ModelFile& file, const DataPlace& place);

/// The locations that a model's tensors name, as they stand there.
std::vector<std::string> externalLocations(onnx::ModelProto& proto);

}  // namespace pet
