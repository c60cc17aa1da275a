#pragma once

#include "onnx/onnx-ml.pb.h"

#include "applier/onnx/model.h"

namespace pet {

struct ModelFile {
  onnx::ModelProto proto;
};

/// The model as a value that shares the file's bytes. `where` stands in errors for the file's name.
Expected<Model> readModel(const std::shared_ptr<const ModelFile>& file, const std::string& where);

/// "" for ONNX's own.
std::string domainOf(const std::string& written);

/// Adds the keys of the functions that nodes call, within their subgraphs, too.
void collectCalls(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, std::set<std::string>& into);

/// The functions of a file by key(), with their bodies unread, callees before callers. kModel: one calls itself.
Expected<std::vector<std::shared_ptr<Function>>> listFunctions(const std::shared_ptr<const ModelFile>& file,
                                                               const std::string& where);

/// Checks that every value is defined once, every use is of a defined or a captured one, and puts the nodes in
/// topological order. Subgraphs have been sorted before.
Expected<void> sortGraph(Graph& graph, const std::string& where);

}  // namespace pet
