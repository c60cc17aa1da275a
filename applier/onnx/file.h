#pragma once

#include "onnx/onnx-ml.pb.h"

#include "applier/onnx/model.h"

namespace pet {

/// The messages of a file. Where a tensor says that its data are external it refers to `values`, and all that the file
/// said of where they are is gone.
struct ModelFile {
  onnx::ModelProto proto;
  std::vector<Bytes> values;
  bool external = false;                 ///< some were in data files
  std::string path;                      ///< of the file, without links; empty: it came from a pipe or from memory
  std::set<std::string> dataPaths = {};  ///< of its data files, without links
};

/// Has a tensor refer to the value at this position, instead of what it had.
void refer(onnx::TensorProto& tensor, size_t position);
/// The position that a tensor refers to, whose data are external.
size_t referredBy(const onnx::TensorProto& tensor);

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

/// A model's messages as they are to be written. Large new weights are referred to as well.
ModelFile messagesOf(const Model& model);

/// A graph's declarations with these extents; bindExtents() of a model says more.
Expected<void> bindExtents(onnx::GraphProto& graph, const OpenExtents& extents, const std::string& where);

/// The locations of external data that a model names; none if it cannot be read.
std::vector<std::string> dataFilesOf(const std::string& path);
/// load(), of a model whose data files are not all where it names them: their paths by location.
Expected<Model> loadStaged(const std::string& path, const std::map<std::string, std::string>& instead);

}  // namespace pet
