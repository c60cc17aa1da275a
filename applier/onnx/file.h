#pragma once

#include "onnx/onnx-ml.pb.h"

#include "applier/onnx/model.h"

namespace pet {

struct ModelFile {
  onnx::ModelProto proto;
};

/// The main graph as a value that shares the file's bytes. `where` stands in errors for the file's name.
Expected<Graph> readGraph(const std::shared_ptr<const ModelFile>& file, const std::string& where);

/// Checks that every value is defined once, every use is of a defined one, and puts the nodes in topological order.
Expected<void> sortGraph(Graph& graph, const std::string& where);

}  // namespace pet
