// Graph -> ONNX's messages. What has an original goes out as it came in.

#include <algorithm>
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
void writeInitializer(const Initializer& i, std::vector<Bytes>& values, onnx::TensorProto& t) {
  if (i.value.bytes->size() < kLeastReferred) return writeTensor(i.name, i.value, t);
  writeTensor(i.name, {i.value.element, i.value.extents, Bytes(std::string())}, t);
  refer(t, values.size());
  values.push_back(i.value.bytes);
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
    onnx::ValueInfoProto& info = *to.Add();
    info.set_name(name);
    auto type = graph.types.find(name);
    if (type == graph.types.end() || type->second.element == ElementType::kUnknown) continue;
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<int>(type->second.element));
    if (!type->second.dims) continue;
    tensor.mutable_shape();
    for (size_t d = 0; d < type->second.dims->size(); ++d) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      const auto& extent = (*type->second.dims)[d];
      const std::string_view named = type->second.nameOf(d);
      if (extent) dim.set_dim_value(*extent);
      if (!extent && !named.empty()) dim.set_dim_param(std::string(named));
    }
  }
}

/// Before IR version 4 an initializer has to be a graph input, too; those of a file are, unless this is a `part` of it.
void declareInitializers(const Graph& graph, bool part, onnx::GraphProto& to) {
  for (const Initializer& i : graph.initializers) {
    if (i.original < 0 || part) declare(i.name, i.value.element, i.value.extents, *to.add_input());
  }
}

/// The frame of a model that comes from no file: its version.
onnx::ModelProto newFile(const Graph& graph) {
  onnx::ModelProto proto;
  proto.set_ir_version(graph.opset <= 18 ? 8 : 10);
  proto.set_producer_name("pet");
  proto.add_opset_import()->set_version(graph.opset);
  return proto;
}

std::set<std::string> resultsOf(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  std::set<std::string> names;
  for (const onnx::NodeProto& n : nodes)
    names.insert(n.output().begin(), n.output().end());
  return names;
}

std::set<std::string> definedIn(const onnx::GraphProto& graph) {
  std::set<std::string> names = resultsOf(graph.node());
  for (const auto& i : graph.initializer())
    names.insert(i.name());
  for (const auto& i : graph.sparse_initializer())
    names.insert(i.values().name());
  for (const auto& i : graph.input())
    names.insert(i.name());
  return names;
}

/// Copies the declarations of values but for those that are no longer there, or that only have a name of the file's. A
/// declaration of what the file did not define either (a quantizer leaves such behind) says nothing, and is kept.
template <typename Declarations, typename Name>
void keepDeclarations(const Declarations& from,
                      Name nameOf,
                      const std::set<std::string>& before,
                      const std::set<std::string>& now,
                      Declarations& to) {
  for (const auto& declaration : from) {
    if (before.contains(nameOf(declaration)) == now.contains(nameOf(declaration))) *to.Add() = declaration;
  }
}

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
  const std::set<std::string> before = definedIn(from);
  keepDeclarations(
      from.value_info(), [](const auto& v) { return v.name(); }, before, defined, *to.mutable_value_info());
  keepDeclarations(
      from.quantization_annotation(), [](const auto& a) { return a.tensor_name(); }, before, defined,
      *to.mutable_quantization_annotation());
}

void writeInterface(const Graph& graph, bool part, const onnx::GraphProto& from, onnx::GraphProto& to) {
  if (part || !graph.original) {
    declareAll(graph.inputs, graph, *to.mutable_input());
    declareAll(graph.outputs, graph, *to.mutable_output());
  } else {
    *to.mutable_input() = from.input();
    *to.mutable_output() = from.output();
    for (int i = 0; i < to.output_size(); ++i)  // those of an inlined function's subgraph have new names
      to.mutable_output(i)->set_name(graph.outputs[static_cast<size_t>(i)]);
    for (int i = 0; i < to.input_size() && to.input_size() == std::ssize(graph.inputs); ++i)
      to.mutable_input(i)->set_name(graph.inputs[static_cast<size_t>(i)]);
  }
  for (const auto& s : from.sparse_initializer()) {
    if (!part || graph.sparse.contains(s.values().name())) *to.add_sparse_initializer() = s;
  }
}

/// How graphs are written.
struct Frame {
  int64_t irVersion = 0;
  bool part = false;           ///< of what the file holds
  std::vector<Bytes>& values;  ///< that tensors refer to; large new ones are added
};

void writeGraph(const Graph& graph, Frame frame, bool isMain, onnx::GraphProto& to);

void writeSubgraph(const Graph& graph, Frame frame, AttributeProto& a) {
  a.set_type(AttributeProto::GRAPH);
  writeGraph(graph, {frame.irVersion, false, frame.values}, false, *a.mutable_g());
}

void writeNew(const GraphNode& node, Frame frame, onnx::NodeProto& n) {
  n.set_name(node.name);
  n.set_op_type(node.type);
  if (!node.domain.empty()) n.set_domain(node.domain);
  n.mutable_input()->Add(node.inputs.begin(), node.inputs.end());
  n.mutable_output()->Add(node.outputs.begin(), node.outputs.end());
  for (const auto& [name, value] : node.attributes) {
    AttributeProto& a = *n.add_attribute();
    writeAttribute(name, value, a);
    if (const auto* subgraph = std::get_if<Subgraph>(&value)) writeSubgraph(**subgraph, frame, a);
  }
}

/// The original but for names, subgraphs and attributes that the function's caller gives.
void writeRenewed(const GraphNode& node, Frame frame, onnx::NodeProto& n) {
  const onnx::NodeProto& from = *node.original;
  n.set_name(node.name);
  n.set_op_type(from.op_type());
  if (from.has_domain()) n.set_domain(from.domain());
  if (from.has_overload()) n.set_overload(from.overload());
  n.mutable_input()->Add(node.inputs.begin(), node.inputs.end());
  n.mutable_output()->Add(node.outputs.begin(), node.outputs.end());
  for (const AttributeProto& a : from.attribute()) {
    auto value = node.attributes.find(a.name());
    const bool known = value != node.attributes.end();
    const auto* subgraph = known ? std::get_if<Subgraph>(&value->second) : nullptr;
    const bool refers = a.has_ref_attr_name() && !a.ref_attr_name().empty();
    if (subgraph) {
      AttributeProto& out = *n.add_attribute();
      out.set_name(a.name());
      if (a.has_doc_string()) out.set_doc_string(a.doc_string());
      writeSubgraph(**subgraph, frame, out);
    } else if (!refers) {
      *n.add_attribute() = a;
    } else if (known) {
      writeAttribute(a.name(), value->second, *n.add_attribute());
    }
  }
  if (from.has_doc_string()) n.set_doc_string(from.doc_string());
  *n.mutable_metadata_props() = from.metadata_props();
  *n.mutable_device_configurations() = from.device_configurations();
  *n.mutable_unknown_fields() = from.unknown_fields();
}

void writeNode(const GraphNode& node, Frame frame, onnx::NodeProto& n) {
  if (!node.original) {
    writeNew(node, frame, n);
  } else if (node.renewed) {
    writeRenewed(node, frame, n);
  } else {
    n = *node.original;
  }
}

/// Where there can be no initializers: in functions, and in subgraphs before IR version 4.
void writeAsNode(const Initializer& i, onnx::NodeProto& n) {
  n.set_op_type("Constant");
  n.add_output(i.name);
  writeAttribute("value", i.value, *n.add_attribute());
}

void writeGraph(const Graph& graph, Frame frame, bool isMain, onnx::GraphProto& to) {
  static const onnx::GraphProto kNone;
  const onnx::GraphProto& from = graph.original ? *graph.original : kNone;
  for (const Initializer& i : graph.initializers) {
    if (i.original >= 0) {
      *to.add_initializer() = from.initializer(i.original);
    } else if (!isMain && frame.irVersion < 4) {
      writeAsNode(i, *to.add_node());
    } else {
      writeInitializer(i, frame.values, *to.add_initializer());
    }
  }
  for (const GraphNode& n : graph.nodes)
    writeNode(n, frame, *to.add_node());
  writeDeclarations(graph, frame.part, from, to);
  writeInterface(graph, frame.part, from, to);
  if (isMain && frame.irVersion < 4) declareInitializers(graph, frame.part, to);
  *to.mutable_metadata_props() = from.metadata_props();
  if (from.has_name() || !graph.original) to.set_name(graph.original ? from.name() : "pet");
  if (from.has_doc_string()) to.set_doc_string(from.doc_string());
  *to.mutable_unknown_fields() = from.unknown_fields();
}

void writeFunction(const Function& function, int64_t irVersion, std::vector<Bytes>& values, onnx::FunctionProto& to) {
  const onnx::FunctionProto& from = *function.original;
  to.set_name(from.name());
  *to.mutable_input() = from.input();
  *to.mutable_output() = from.output();
  *to.mutable_attribute() = from.attribute();
  *to.mutable_attribute_proto() = from.attribute_proto();
  std::set<std::string> defined(function.body.inputs.begin(), function.body.inputs.end());
  for (const Initializer& i : function.body.initializers)
    writeAsNode(i, *to.add_node());
  for (const GraphNode& n : function.body.nodes) {
    defined.insert(n.outputs.begin(), n.outputs.end());
    writeNode(n, {irVersion, false, values}, *to.add_node());
  }
  std::set<std::string> before = resultsOf(from.node());
  before.insert(from.input().begin(), from.input().end());
  keepDeclarations(
      from.value_info(), [](const auto& v) { return v.name(); }, before, defined, *to.mutable_value_info());
  if (from.has_doc_string()) to.set_doc_string(from.doc_string());
  *to.mutable_opset_import() = from.opset_import();
  if (from.has_domain()) to.set_domain(from.domain());
  if (from.has_overload()) to.set_overload(from.overload());
  *to.mutable_metadata_props() = from.metadata_props();
  *to.mutable_unknown_fields() = from.unknown_fields();
}

/// The functions that a graph calls, and those that these call.
void collectFunctions(const Graph& graph, std::map<std::string, const Function*>& into) {
  for (const GraphNode& n : graph.nodes) {
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { collectFunctions(*inner, into); });
    auto enter = [&](const std::shared_ptr<const Function>& f) {
      if (f && into.emplace(f->key(), f.get()).second) collectFunctions(f->body, into);
    };
    enter(n.callee);
    std::for_each(n.hiddenCalls.begin(), n.hiddenCalls.end(), enter);
  }
}

void writeFunctions(const Model& model, const onnx::ModelProto& from, ModelFile& file) {
  std::map<std::string, const Function*> called;
  collectFunctions(model.graph, called);
  for (const onnx::FunctionProto& f : from.functions()) {
    const std::string key = functionKey(domainOf(f.domain()), f.name(), f.overload());
    auto it = called.find(key);
    if (it == called.end() && model.inlined.contains(key)) continue;
    if (it != called.end() && it->second->rewritten) {
      writeFunction(*it->second, from.ir_version(), file.values, *file.proto.add_functions());
    } else {
      *file.proto.add_functions() = f;
    }
  }
}

/// Adds what the metadata do not say yet.
void writeMetadata(const Metadata& metadata, onnx::ModelProto& to) {
  auto& entries = *to.mutable_metadata_props();
  for (const auto& [key, values] : metadata) {
    if (values.empty()) continue;
    auto entry = std::find_if(entries.begin(), entries.end(), [&, &k = key](const auto& e) { return e.key() == k; });
    onnx::StringStringEntryProto& said = entry == entries.end() ? *entries.Add() : *entry;
    said.set_key(key);
    for (const std::string& value : values) {
      const std::string all = ", " + said.value() + ",";
      if (all.find(", " + value + ",") != std::string::npos) continue;
      said.set_value(said.value().empty() ? value : said.value() + ", " + value);
    }
  }
}

/// Everything but graph and functions, field by field, so that the old graph with its weights is not copied only to be
/// dropped.
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
  writeMetadata(model.metadata, file.proto);
  writeGraph(model.graph, {from.ir_version(), model.part, file.values}, true, *file.proto.mutable_graph());
  writeFunctions(model, from, file);
  return file;
}

Expected<std::string> serialize(const Model& model, const OpenExtents& extents) {
  ModelFile file = messagesOf(model);
  if (auto ok = bindExtents(*file.proto.mutable_graph(), extents, "the model"); !ok) return tl::unexpected(ok.error());
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
