// ONNX's messages -> Graph.

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

class Reader {
 public:
  Reader(const std::shared_ptr<const ModelFile>& file, const std::string& where) : file_(file), where_(where) {}

  Expected<Graph> read();

 private:
  tl::unexpected<Error> error(std::string what, std::string advice = "") const {
    return fail(ErrorKind::kModel, std::move(what), where_, std::move(advice));
  }
  Expected<Constant> constant(const TensorProto& t, const std::string& owner) const;
  Expected<GraphAttribute> attribute(const AttributeProto& a, const std::string& owner) const;
  Expected<GraphNode> node(const onnx::NodeProto& n, int position) const;
  Expected<void> readInitializers(Graph& graph) const;

  const std::shared_ptr<const ModelFile>& file_;
  const std::string& where_;
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

Expected<GraphNode> Reader::node(const onnx::NodeProto& n, int position) const {
  GraphNode result;
  result.name = n.name();
  result.type = n.op_type();
  result.domain = n.domain() == "ai.onnx" ? "" : n.domain();
  result.inputs.assign(n.input().begin(), n.input().end());
  result.outputs.assign(n.output().begin(), n.output().end());
  result.original = position;
  result.standard = result.domain.empty();
  for (const auto& f : file_->proto.functions()) {
    bool called = f.name() == n.op_type() && (f.domain() == "ai.onnx" ? "" : f.domain()) == result.domain;
    result.standard = result.standard && !called;
  }
  std::string owner = fmt::format("node '{}' ({})", result.name, result.type);
  std::set<std::string> captured;
  for (const auto& a : n.attribute()) {
    auto value = attribute(a, owner);
    if (!value) return tl::unexpected(value.error());
    result.attributes.emplace(a.name(), std::move(*value));
    if (a.has_g()) collectCaptures(a.g(), {}, captured);
    for (const auto& g : a.graphs())
      collectCaptures(g, {}, captured);
  }
  result.captured.assign(captured.begin(), captured.end());
  return result;
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

Expected<void> Reader::readInitializers(Graph& graph) const {
  const auto& g = file_->proto.graph();
  std::set<std::string> inputs;
  for (const auto& i : g.input())
    inputs.insert(i.name());
  for (int i = 0; i < g.initializer_size(); ++i) {
    const TensorProto& t = g.initializer(i);
    auto value = constant(t, fmt::format("initializer '{}'", t.name()));
    if (!value) return tl::unexpected(value.error());
    graph.initializers.push_back({t.name(), std::move(*value), inputs.contains(t.name()), i});
  }
  for (const auto& s : g.sparse_initializer())
    graph.sparse.insert(s.values().name());
  return {};
}

Expected<Graph> Reader::read() {
  const auto& proto = file_->proto;
  const auto& g = proto.graph();
  Graph graph;
  for (const auto& import : proto.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") graph.opset = import.version();
  }
  if (auto ok = readInitializers(graph); !ok) return tl::unexpected(ok.error());
  std::set<std::string, std::less<>> constants;
  for (const Initializer& i : graph.initializers)
    constants.insert(i.name);
  for (const auto& i : g.input()) {
    if (!constants.contains(i.name()) && !graph.sparse.contains(i.name())) graph.inputs.push_back(i.name());
    graph.types[i.name()] = valueType(i);
  }
  for (const auto& v : g.value_info())
    graph.types[v.name()] = valueType(v);
  for (const auto& o : g.output()) {
    graph.outputs.push_back(o.name());
    graph.types[o.name()] = valueType(o);
  }
  for (int i = 0; i < g.node_size(); ++i) {
    auto n = node(g.node(i), i);
    if (!n) return tl::unexpected(n.error());
    graph.nodes.push_back(std::move(*n));
  }
  return graph;
}

}  // namespace

Expected<Graph> readGraph(const std::shared_ptr<const ModelFile>& file, const std::string& where) {
  return Reader(file, where).read();
}

}  // namespace pet
