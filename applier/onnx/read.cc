// ONNX's messages -> Graph.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "applier/onnx/file.h"
#include "applier/onnx/tensors.h"

namespace pet {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

/// Little-endian bytes of a repeated field whose elements stand for values of type T.
template <class T, class Field>
Bytes pack(const Field& field) {
  std::string bytes(static_cast<size_t>(field.size()) * sizeof(T), '\0');
  for (int i = 0; i < field.size(); ++i) {
    T value = static_cast<T>(field[i]);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

/// The values of a tensor that does not keep them in raw_data; null for types that pet does not look into.
Bytes packTyped(const TensorProto& t) {
  switch (static_cast<ElementType>(t.data_type())) {
    case ElementType::kFloat:
      return pack<float>(t.float_data());
    case ElementType::kDouble:
      return pack<double>(t.double_data());
    case ElementType::kInt64:
      return pack<int64_t>(t.int64_data());
    case ElementType::kInt32:
      return pack<int32_t>(t.int32_data());
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
    case ElementType::kInt16:
    case ElementType::kUint16:
      return pack<uint16_t>(t.int32_data());
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return pack<uint8_t>(t.int32_data());
    case ElementType::kUint32:
      return pack<uint32_t>(t.uint64_data());
    case ElementType::kUint64:
      return pack<uint64_t>(t.uint64_data());
    default:
      return nullptr;
  }
}

using Functions = std::map<std::string, std::shared_ptr<const Function>, std::less<>>;

class Reader {
 public:
  Reader(const std::shared_ptr<const ModelFile>& file, const std::string& where) : file_(file), where_(where) {}

  Expected<Model> read();

 private:
  tl::unexpected<Error> error(std::string what, std::string advice = "") const {
    return fail(ErrorKind::kModel, std::move(what), where_, std::move(advice));
  }
  Expected<Constant> constant(const TensorProto& t, const std::string& owner) const;
  Expected<SparseConstant> sparseType(const onnx::SparseTensorProto& s, const std::string& owner) const;
  Expected<GraphAttribute> attribute(const AttributeProto& a, const std::string& owner) const;
  Expected<void> attributes(const onnx::NodeProto& n, size_t depth, int64_t opset, GraphNode& into) const;
  Expected<GraphNode> node(const onnx::NodeProto& n, size_t depth, int64_t opset) const;
  Expected<std::vector<GraphNode>> nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& from,
                                         size_t depth,
                                         int64_t opset) const;
  void hideCalls(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, GraphNode& into) const;
  void hideGraph(const onnx::GraphProto& g, GraphNode& into, std::set<std::string>& captured) const;
  Expected<void> readInitializers(const onnx::GraphProto& g, Graph& graph) const;
  Expected<Graph> graph(const onnx::GraphProto& g, size_t depth, int64_t opset) const;
  Expected<Subgraph> subgraph(const onnx::GraphProto& g, size_t depth, int64_t opset) const;
  Expected<void> readBody(Function& function, int64_t opset) const;

  const std::shared_ptr<const ModelFile>& file_;
  const std::string& where_;
  Functions functions_;
};

Expected<Constant> Reader::constant(const TensorProto& t, const std::string& owner) const {
  Constant c;
  c.element = static_cast<ElementType>(t.data_type());
  c.extents.assign(t.dims().begin(), t.dims().end());
  auto count = countOf(c.extents);
  if (!count) return error(fmt::format("{} has impossible extents {}", owner, str(c.extents)));
  size_t size = elementSize(c.element);
  if (size == 0) return c;
  if (t.data_location() == TensorProto::EXTERNAL) {
    c.bytes = file_->values[referredBy(t)];
  } else {
    c.bytes = t.has_raw_data() ? Bytes(t.raw_data(), file_) : packTyped(t);
  }
  if (c.bytes && c.bytes->size() != static_cast<size_t>(*count) * size)
    return tl::unexpected(wrongSize(t, owner, c.bytes->size(), where_));
  return c;
}

Expected<SparseConstant> Reader::sparseType(const onnx::SparseTensorProto& s, const std::string& owner) const {
  SparseConstant sparse{static_cast<ElementType>(s.values().data_type()), {s.dims().begin(), s.dims().end()}};
  if (!countOf(sparse.extents)) return error(fmt::format("{} has impossible extents {}", owner, str(sparse.extents)));
  return sparse;
}

Expected<GraphAttribute> Reader::attribute(const AttributeProto& a, const std::string& owner) const {
  switch (a.type()) {
    case AttributeProto::INT:
      return GraphAttribute(a.i());
    case AttributeProto::FLOAT:
      return GraphAttribute(a.f());
    case AttributeProto::STRING:
      return GraphAttribute(a.s());
    case AttributeProto::INTS:
      return GraphAttribute(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
    case AttributeProto::FLOATS:
      return GraphAttribute(std::vector<float>(a.floats().begin(), a.floats().end()));
    case AttributeProto::STRINGS:
      return GraphAttribute(std::vector<std::string>(a.strings().begin(), a.strings().end()));
    case AttributeProto::TENSOR: {
      auto c = constant(a.t(), fmt::format("attribute '{}' of {}", a.name(), owner));
      if (!c) return tl::unexpected(c.error());
      return GraphAttribute(std::move(*c));
    }
    case AttributeProto::SPARSE_TENSOR: {
      auto sparse = sparseType(a.sparse_tensor(), fmt::format("attribute '{}' of {}", a.name(), owner));
      if (!sparse) return tl::unexpected(sparse.error());
      return GraphAttribute(std::move(*sparse));
    }
    default:
      return GraphAttribute(std::monostate{});
  }
}

/// Adds the outer values that a subgraph reads. `defined`: the names of the enclosing subgraphs' own values.
void collectCaptures(const onnx::GraphProto& graph, std::set<std::string> defined, std::set<std::string>& into) {
  for (const auto& i : graph.input())
    defined.insert(i.name());
  for (const auto& i : graph.initializer())
    defined.insert(i.name());
  for (const auto& i : graph.sparse_initializer())
    defined.insert(i.values().name());
  for (const auto& n : graph.node())
    defined.insert(n.output().begin(), n.output().end());
  auto use = [&](const std::string& name) {
    if (!name.empty() && !defined.contains(name)) into.insert(name);
  };
  for (const auto& n : graph.node()) {
    for (const auto& name : n.input())
      use(name);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) collectCaptures(a.g(), defined, into);
      for (const auto& g : a.graphs())
        collectCaptures(g, defined, into);
    }
  }
  for (const auto& o : graph.output())
    use(o.name());
}

/// Only of these does pet know what a subgraph is for.
bool hasSubgraphs(const GraphNode& node) {
  return node.standard && (node.type == "If" || node.type == "Loop" || node.type == "Scan");
}

void Reader::hideCalls(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, GraphNode& into) const {
  std::set<std::string> keys;
  collectCalls(nodes, keys);
  for (const std::string& key : keys) {
    if (auto it = functions_.find(key); it != functions_.end()) into.hiddenCalls.push_back(it->second);
  }
}

/// A subgraph of an operator that is not known.
void Reader::hideGraph(const onnx::GraphProto& g, GraphNode& into, std::set<std::string>& captured) const {
  collectCaptures(g, {}, captured);
  hideCalls(g.node(), into);
}

Expected<void> Reader::attributes(const onnx::NodeProto& n, size_t depth, int64_t opset, GraphNode& into) const {
  const std::string owner = fmt::format("node '{}' ({})", into.name, into.type);
  std::set<std::string> captured;
  for (const auto& a : n.attribute()) {
    if (a.has_ref_attr_name() && !a.ref_attr_name().empty()) {
      into.references.emplace(a.name(), a.ref_attr_name());
    } else if (a.type() == AttributeProto::GRAPH && hasSubgraphs(into)) {
      auto body = subgraph(a.g(), depth + 1, opset);
      if (!body) return tl::unexpected(body.error());
      captured.insert((*body)->captured.begin(), (*body)->captured.end());
      into.attributes.emplace(a.name(), std::move(*body));
    } else {
      auto value = attribute(a, owner);
      if (!value) return tl::unexpected(value.error());
      into.attributes.emplace(a.name(), std::move(*value));
      if (a.has_g()) hideGraph(a.g(), into, captured);
      for (const auto& g : a.graphs())
        hideGraph(g, into, captured);
    }
  }
  into.captured.assign(captured.begin(), captured.end());
  return {};
}

Expected<GraphNode> Reader::node(const onnx::NodeProto& n, size_t depth, int64_t opset) const {
  GraphNode result;
  result.name = n.name();
  result.type = n.op_type();
  result.domain = domainOf(n.domain());
  result.inputs.assign(n.input().begin(), n.input().end());
  result.outputs.assign(n.output().begin(), n.output().end());
  result.original = std::shared_ptr<const onnx::NodeProto>(file_, &n);
  auto called = functions_.find(functionKey(result.domain, n.op_type(), n.overload()));
  result.standard = result.domain.empty() && called == functions_.end();
  if (called != functions_.end() && called->second->depth <= kMostNestedGraphs) {
    result.callee = called->second;
  } else if (called != functions_.end()) {
    hideCalls(called->second->original->node(), result);
  }
  if (auto ok = attributes(n, depth, opset, result); !ok) return tl::unexpected(ok.error());
  return result;
}

Expected<std::vector<GraphNode>> Reader::nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& from,
                                               size_t depth,
                                               int64_t opset) const {
  std::vector<GraphNode> result;
  for (const auto& n : from) {
    auto read = node(n, depth, opset);
    if (!read) return tl::unexpected(read.error());
    result.push_back(std::move(*read));
  }
  return result;
}

Expected<Subgraph> Reader::subgraph(const onnx::GraphProto& g, size_t depth, int64_t opset) const {
  if (depth > kMostNestedGraphs) return error(fmt::format("subgraphs are nested more than {} deep", kMostNestedGraphs));
  auto read = graph(g, depth, opset);
  if (!read) return tl::unexpected(read.error());
  read->captured = capturedBy(*read);
  if (auto ok = sortGraph(*read, where_); !ok) return tl::unexpected(ok.error());
  return std::make_shared<const Graph>(std::move(*read));
}

ValueType valueType(const onnx::ValueInfoProto& info) {
  ValueType type;
  if (!info.type().has_tensor_type()) return type;
  const auto& tensor = info.type().tensor_type();
  type.element = static_cast<ElementType>(tensor.elem_type());
  if (!tensor.has_shape()) return type;
  type.dims.emplace();
  for (const auto& d : tensor.shape().dim()) {
    bool known = d.has_dim_value() && d.dim_value() >= 0;
    type.dims->push_back(known ? std::optional<int64_t>(d.dim_value()) : std::nullopt);
    type.names.push_back(known ? "" : d.dim_param());
  }
  return type;
}

Expected<void> Reader::readInitializers(const onnx::GraphProto& g, Graph& graph) const {
  std::set<std::string> inputs;
  for (const auto& i : g.input())
    inputs.insert(i.name());
  for (int i = 0; i < g.initializer_size(); ++i) {
    const TensorProto& t = g.initializer(i);
    auto value = constant(t, fmt::format("initializer '{}'", t.name()));
    if (!value) return tl::unexpected(value.error());
    graph.initializers.push_back({t.name(), std::move(*value), inputs.contains(t.name()), i});
  }
  for (const auto& s : g.sparse_initializer()) {
    const std::string& name = s.values().name();
    auto type = sparseType(s, fmt::format("sparse initializer '{}'", name));
    if (!type) return tl::unexpected(type.error());
    graph.sparse.insert(name);
    graph.types[name] = {type->element, {{type->extents.begin(), type->extents.end()}}};
  }
  return {};
}

Expected<Graph> Reader::graph(const onnx::GraphProto& g, size_t depth, int64_t opset) const {
  Graph graph;
  graph.opset = opset;
  graph.original = std::shared_ptr<const onnx::GraphProto>(file_, &g);
  if (auto ok = readInitializers(g, graph); !ok) return tl::unexpected(ok.error());
  std::set<std::string, std::less<>> constants;
  for (const Initializer& i : graph.initializers)
    constants.insert(i.name);
  auto declare = [&](const onnx::ValueInfoProto& v) {
    ValueType& type = graph.types[v.name()] = valueType(v);
    if (depth > 0) type.names.clear();
  };
  for (const auto& i : g.input()) {
    if (!constants.contains(i.name()) && !graph.sparse.contains(i.name())) graph.inputs.push_back(i.name());
    declare(i);
  }
  for (const auto& v : g.value_info())
    declare(v);
  for (const auto& o : g.output()) {
    graph.outputs.push_back(o.name());
    declare(o);
  }
  auto read = nodes(g.node(), depth, opset);
  if (!read) return tl::unexpected(read.error());
  graph.nodes = std::move(*read);
  return graph;
}

bool refersToCall(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& n) {
    bool refers = !n.references.empty();
    forEachSubgraph(n, [&](const auto&, const Subgraph& inner) { refers = refers || refersToCall(*inner); });
    return refers;
  });
}

Expected<void> Reader::readBody(Function& function, int64_t opset) const {
  const onnx::FunctionProto& f = *function.original;
  Graph& body = function.body;
  auto own = function.opsets.find("");
  body.opset = own == function.opsets.end() ? opset : own->second;
  body.inputs.assign(f.input().begin(), f.input().end());
  body.outputs.assign(f.output().begin(), f.output().end());
  for (const auto& a : f.attribute_proto()) {
    auto value = attribute(a, fmt::format("function '{}'", function.key()));
    if (!value) return tl::unexpected(value.error());
    function.defaults.emplace(a.name(), std::move(*value));
  }
  auto read = nodes(f.node(), 0, body.opset);
  if (!read) return tl::unexpected(read.error());
  body.nodes = std::move(*read);
  function.isGeneric = refersToCall(body);
  return sortGraph(body, where_);
}

Expected<Model> Reader::read() {
  const auto& proto = file_->proto;
  Model model;
  for (const auto& import : proto.opset_import())
    model.opsets[domainOf(import.domain())] = import.version();
  int64_t opset = model.opsets.contains("") ? model.opsets.at("") : 0;
  auto functions = listFunctions(file_, where_);
  if (!functions) return tl::unexpected(functions.error());
  for (const auto& f : *functions) {
    if (auto ok = readBody(*f, opset); !ok) return tl::unexpected(ok.error());
    functions_.emplace(f->key(), f);
  }
  auto main = graph(proto.graph(), 0, opset);
  if (!main) return tl::unexpected(main.error());
  if (auto ok = sortGraph(*main, where_); !ok) return tl::unexpected(ok.error());
  model.graph = std::move(*main);
  model.file = file_;
  return model;
}

}  // namespace

std::string domainOf(const std::string& written) {
  return written == "ai.onnx" ? "" : written;
}

std::string metadataEntry(const Model& model, std::string_view key) {
  if (!model.file) return "";
  const auto& entries = model.file->proto.metadata_props();
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.key() == key; });
  return entry == entries.end() ? "" : entry->value();
}

Expected<Model> readModel(const std::shared_ptr<const ModelFile>& file, const std::string& where) {
  return Reader(file, where).read();
}

}  // namespace pet
