#include "applier/onnx/tensors.h"

#include <charconv>

#include <fmt/format.h>

namespace pet {
namespace {

using onnx::TensorProto;
using TensorVisitor = std::function<void(TensorProto&, const std::string& owner)>;

constexpr std::string_view kReference = "value";

void visitGraph(onnx::GraphProto& graph, const TensorVisitor& visit);

void visitSparse(onnx::SparseTensorProto& sparse, const TensorVisitor& visit) {
  std::string owner = fmt::format("sparse initializer '{}'", sparse.values().name());
  if (sparse.has_values()) visit(*sparse.mutable_values(), owner);
  if (sparse.has_indices()) visit(*sparse.mutable_indices(), owner);
}

void visitAttribute(onnx::AttributeProto& a, const onnx::NodeProto* node, const TensorVisitor& visit) {
  auto owner = [&] {
    return node ? fmt::format("attribute '{}' of node '{}' ({})", a.name(), node->name(), node->op_type())
                : fmt::format("attribute '{}' of a function", a.name());
  };
  if (a.has_t()) visit(*a.mutable_t(), owner());
  for (TensorProto& t : *a.mutable_tensors())
    visit(t, owner());
  if (a.has_sparse_tensor()) visitSparse(*a.mutable_sparse_tensor(), visit);
  for (auto& s : *a.mutable_sparse_tensors())
    visitSparse(s, visit);
  if (a.has_g()) visitGraph(*a.mutable_g(), visit);
  for (auto& g : *a.mutable_graphs())
    visitGraph(g, visit);
}

void visitNodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const TensorVisitor& visit) {
  for (onnx::NodeProto& n : nodes) {
    for (auto& a : *n.mutable_attribute())
      visitAttribute(a, &n, visit);
  }
}

void visitGraph(onnx::GraphProto& graph, const TensorVisitor& visit) {
  for (TensorProto& t : *graph.mutable_initializer())
    visit(t, fmt::format("initializer '{}'", t.name()));
  for (auto& s : *graph.mutable_sparse_initializer())
    visitSparse(s, visit);
  visitNodes(*graph.mutable_node(), visit);
}

}  // namespace

void forEachTensor(onnx::ModelProto& proto, const TensorVisitor& visit) {
  if (proto.has_graph()) visitGraph(*proto.mutable_graph(), visit);
  for (auto& f : *proto.mutable_functions()) {
    visitNodes(*f.mutable_node(), visit);
    for (auto& a : *f.mutable_attribute_proto())
      visitAttribute(a, nullptr, visit);
  }
  for (auto& t : *proto.mutable_training_info()) {
    if (t.has_initialization()) visitGraph(*t.mutable_initialization(), visit);
    if (t.has_algorithm()) visitGraph(*t.mutable_algorithm(), visit);
  }
}

void refer(TensorProto& t, size_t position) {
  t.clear_raw_data();
  t.clear_external_data();
  auto& entry = *t.add_external_data();
  entry.set_key(std::string(kReference));
  entry.set_value(std::to_string(position));
  t.set_data_location(TensorProto::EXTERNAL);
}

size_t referredBy(const TensorProto& t) {
  const std::string& text = t.external_data(0).value();
  size_t position = 0;
  std::from_chars(text.data(), text.data() + text.size(), position);
  return position;
}

void putInline(TensorProto& t, std::string_view value) {
  t.clear_external_data();
  t.clear_data_location();
  t.set_raw_data(value.data(), value.size());
}

std::optional<int64_t> countOf(const Extents& extents) {
  int64_t count = 1;
  for (int64_t d : extents) {
    if (d < 0 || __builtin_mul_overflow(count, d, &count) || count > (int64_t{1} << 40)) return std::nullopt;
  }
  return count;
}

Error wrongSize(const TensorProto& t, const std::string& owner, uint64_t held, const std::string& where) {
  auto element = static_cast<ElementType>(t.data_type());
  Extents extents(t.dims().begin(), t.dims().end());
  return Error{ErrorKind::kModel,
               fmt::format("{} holds {} bytes of values, but {} of {} need {}", owner, held, str(extents), str(element),
                           static_cast<uint64_t>(countOf(extents).value()) * elementSize(element)),
               where,
               {}};
}

}  // namespace pet
