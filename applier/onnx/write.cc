// Graph -> ONNX's messages. What has an original goes out as it came in.

#include <climits>

#include <fmt/format.h>

#include "applier/onnx/file.h"
#include "applier/onnx/tensors.h"

namespace pet {
namespace {

using onnx::AttributeProto;

constexpr size_t kLeastReferred = 4096;  ///< bytes of a new tensor that are worth a reference

void writeTensor(const std::string& name, const Constant& c, onnx::TensorProto& t) {
  t.set_name(name);
  t.set_data_type(static_cast<int>(c.element));
  for (int64_t d : c.extents)
    t.add_dims(d);
  t.set_raw_data(c.bytes->data(), c.bytes->size());
}

/// A new initializer; large values stay where they are.
void writeInitializer(const Initializer& i, ModelFile& file, onnx::TensorProto& t) {
  if (i.value.bytes->size() < kLeastReferred) return writeTensor(i.name, i.value, t);
  writeTensor(i.name, {i.value.element, i.value.extents, Bytes(std::string())}, t);
  refer(t, file.values.size());
  file.values.push_back(i.value.bytes);
}

void writeAttribute(const std::string& name, const GraphAttribute& value, AttributeProto& a) {
  a.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    a.set_type(AttributeProto::INT);
    a.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    a.set_type(AttributeProto::FLOAT);
    a.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    a.set_type(AttributeProto::STRING);
    a.set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    a.set_type(AttributeProto::INTS);
    a.mutable_ints()->Add(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    a.set_type(AttributeProto::FLOATS);
    a.mutable_floats()->Add(floats->begin(), floats->end());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    a.set_type(AttributeProto::STRINGS);
    for (const std::string& text : *strings)
      a.add_strings(text);
  } else if (const auto* c = std::get_if<Constant>(&value)) {
    a.set_type(AttributeProto::TENSOR);
    writeTensor("", *c, *a.mutable_t());
  }
}

void writeNode(const GraphNode& node, onnx::NodeProto& n) {
  n.set_name(node.name);
  n.set_op_type(node.type);
  if (!node.domain.empty()) n.set_domain(node.domain);
  for (const std::string& name : node.inputs)
    n.add_input(name);
  for (const std::string& name : node.outputs)
    n.add_output(name);
  for (const auto& [name, value] : node.attributes)
    writeAttribute(name, value, *n.add_attribute());
}

void declare(const std::string& name, ElementType element, const Extents& extents, onnx::ValueInfoProto& info) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(element));
  tensor.mutable_shape();
  for (int64_t d : extents)
    tensor.mutable_shape()->add_dim()->set_dim_value(d);
}

void declareAll(const std::vector<std::string>& names,
                const Graph& graph,
                google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& to) {
  for (const std::string& name : names) {
    const ValueType& type = graph.types.at(name);
    declare(name, type.element, type.extents().value(), *to.Add());
  }
}

/// Before IR version 4 an initializer has to be a graph input, too; those of a file are, unless this is a `part` of it.
void declareInitializers(const Graph& graph, bool part, onnx::GraphProto& to) {
  for (const Initializer& i : graph.initializers) {
    if (i.original < 0 || part) declare(i.name, i.value.element, i.value.extents, *to.add_input());
  }
}

/// The frame of a model that comes from no file: its version, inputs and outputs.
onnx::ModelProto newFile(const Graph& graph) {
  onnx::ModelProto proto;
  proto.set_ir_version(graph.opset <= 18 ? 8 : 10);
  proto.set_producer_name("pet");
  proto.add_opset_import()->set_version(graph.opset);
  proto.mutable_graph()->set_name("pet");
  declareAll(graph.inputs, graph, *proto.mutable_graph()->mutable_input());
  declareAll(graph.outputs, graph, *proto.mutable_graph()->mutable_output());
  return proto;
}

/// Drops the declarations of values that are no longer there.
void writeDeclarations(const Graph& graph, bool part, const onnx::GraphProto& from, onnx::GraphProto& to) {
  std::set<std::string> defined(graph.sparse.begin(), graph.sparse.end());
  for (const GraphNode& n : graph.nodes)
    defined.insert(n.outputs.begin(), n.outputs.end());
  for (const Initializer& i : graph.initializers)
    defined.insert(i.name);
  defined.insert(graph.inputs.begin(), graph.inputs.end());
  for (const auto* names : {&graph.inputs, &graph.outputs}) {
    for (const std::string& name : *names) {
      if (part) defined.erase(name);  // declared anew
    }
  }
  for (const auto& v : from.value_info()) {
    if (defined.contains(v.name())) *to.add_value_info() = v;
  }
  for (const auto& a : from.quantization_annotation()) {
    if (defined.contains(a.tensor_name())) *to.add_quantization_annotation() = a;
  }
}

void writeInterface(const Graph& graph, bool part, const onnx::GraphProto& from, onnx::GraphProto& to) {
  if (part) {
    declareAll(graph.inputs, graph, *to.mutable_input());
    declareAll(graph.outputs, graph, *to.mutable_output());
  } else {
    *to.mutable_input() = from.input();
    *to.mutable_output() = from.output();
  }
  for (const auto& s : from.sparse_initializer()) {
    if (!part || graph.sparse.contains(s.values().name())) *to.add_sparse_initializer() = s;
  }
}

void writeGraph(const Model& model, int64_t irVersion, const onnx::GraphProto& from, ModelFile& file) {
  const Graph& graph = model.graph;
  onnx::GraphProto& to = *file.proto.mutable_graph();
  for (const GraphNode& n : graph.nodes) {
    if (n.original >= 0) {
      *to.add_node() = from.node(n.original);
    } else {
      writeNode(n, *to.add_node());
    }
  }
  for (const Initializer& i : graph.initializers) {
    if (i.original >= 0) {
      *to.add_initializer() = from.initializer(i.original);
    } else {
      writeInitializer(i, file, *to.add_initializer());
    }
  }
  writeDeclarations(graph, model.part, from, to);
  writeInterface(graph, model.part, from, to);
  if (irVersion < 4) declareInitializers(graph, model.part, to);
  *to.mutable_metadata_props() = from.metadata_props();
  if (from.has_name()) to.set_name(from.name());
  if (from.has_doc_string()) to.set_doc_string(from.doc_string());
  *to.mutable_unknown_fields() = from.unknown_fields();
}

/// Everything but the graph, field by field, so that the old graph with its weights is not copied only to be dropped.
void writeFrame(const onnx::ModelProto& from, onnx::ModelProto& to) {
  to.set_ir_version(from.ir_version());
  *to.mutable_opset_import() = from.opset_import();
  if (from.has_producer_name()) to.set_producer_name(from.producer_name());
  if (from.has_producer_version()) to.set_producer_version(from.producer_version());
  if (from.has_domain()) to.set_domain(from.domain());
  if (from.has_model_version()) to.set_model_version(from.model_version());
  if (from.has_doc_string()) to.set_doc_string(from.doc_string());
  *to.mutable_metadata_props() = from.metadata_props();
  *to.mutable_training_info() = from.training_info();
  *to.mutable_functions() = from.functions();
  *to.mutable_configuration() = from.configuration();
  *to.mutable_unknown_fields() = from.unknown_fields();
}

}  // namespace

ModelFile messagesOf(const Model& model) {
  onnx::ModelProto fresh;
  if (!model.file) fresh = newFile(model.graph);
  const onnx::ModelProto& from = model.file ? model.file->proto : fresh;
  ModelFile file;
  if (model.file) {
    file.values = model.file->values;
    file.external = model.file->external;
  }
  writeFrame(from, file.proto);
  writeGraph(model, from.ir_version(), from.graph(), file);
  return file;
}

Expected<std::string> serialize(const Model& model) {
  ModelFile file = messagesOf(model);
  size_t size = file.proto.ByteSizeLong();
  forEachTensor(file.proto, [&](onnx::TensorProto& t, const std::string&) {
    if (t.data_location() == onnx::TensorProto::EXTERNAL) size += file.values[referredBy(t)]->size();
  });
  if (size > INT_MAX) {
    return fail(ErrorKind::kModel, fmt::format("the model would have {} bytes in one file, over ONNX's 2 GB", size), "",
                "only what is written to a file of its own can be larger, without --measure");
  }
  forEachTensor(file.proto, [&](onnx::TensorProto& t, const std::string&) {
    if (t.data_location() == onnx::TensorProto::EXTERNAL) putInline(t, *file.values[referredBy(t)]);
  });
  std::string bytes;
  if (!file.proto.SerializeToString(&bytes)) return fail(ErrorKind::kInternal, "protobuf could not write the model");
  return bytes;
}

}  // namespace pet
