#pragma once

#include <string>
#include <vector>

#include "applier/onnx/file.h"

namespace pet {

/// A part of a file: `text`, then `value`, which is not copied.
struct FilePiece {
  std::string text;
  Bytes value;
};

/// A model as it lies in files.
struct ModelLayout {
  ModelFile messages;
  std::vector<FilePiece> data;  ///< the data file; empty: the model needs none
};

/// Decides where values go. A model that had data files, or that would be over 2 GB in one file, gets a data file: all
/// initializers of more than 1 kB, and what was external before, in the order of the model, from multiples of 4096 on;
/// values that share a place in memory share one in the file. Every other model is one file.
ModelLayout layoutOf(const Model& model);

/// The model file of a layout whose data file, if there is one, has this name: what serialize() gives of a model that
/// is one file, without a copy of its large values. kModel: over ONNX's 2 GB even so.
Expected<std::vector<FilePiece>> modelPieces(ModelLayout&& layout, const std::string& dataName);

}  // namespace pet
