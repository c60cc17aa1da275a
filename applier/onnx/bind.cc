#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "applier/onnx/file.h"
#include "ir/suggest.h"

namespace pet {
namespace {

using Dimension = onnx::TensorShapeProto_Dimension;

onnx::TensorShapeProto* shapeOf(onnx::ValueInfoProto& value) {
  return value.type().has_tensor_type() && value.type().tensor_type().has_shape()
           ? value.mutable_type()->mutable_tensor_type()->mutable_shape()
           : nullptr;
}

/// Gives the inputs their extents, and numbers to the names that they are then known by.
class Binder {
 public:
  Binder(onnx::GraphProto& graph, OpenExtents extents, std::string where)
      : graph_(graph), extents_(std::move(extents)), where_(std::move(where)) {}

  Expected<void> run() {
    for (const auto& [input, shape] : extents_.byInput) {
      if (auto ok = bindInput(input, shape); !ok) return ok;
    }
    std::set<std::string> used;
    for (onnx::ValueInfoProto& v : *graph_.mutable_input())
      bindNames(v, used);
    for (const auto& [name, value] : extents_.byName) {
      if (!used.contains(name)) return unknown(name);
    }
    for (onnx::ValueInfoProto& v : *graph_.mutable_output())
      bindNames(v, used);
    for (onnx::ValueInfoProto& v : *graph_.mutable_value_info())
      bindNames(v, used);
    return {};
  }

 private:
  /// With the names that there are.
  tl::unexpected<Error> unknown(const std::string& name) const {
    std::set<std::string> names;
    for (const onnx::ValueInfoProto& v : graph_.input()) {
      for (const Dimension& d : v.type().tensor_type().shape().dim()) {
        if (!d.dim_param().empty()) names.insert(d.dim_param());
      }
    }
    const std::string all = names.empty() ? "no input has a named extent; --shape INPUT=1x3x224x224 gives all of one"
                                          : fmt::format("the names are {}", fmt::join(names, ", "));
    return fail(ErrorKind::kUsage, "no input has an extent of the name " + name, where_,
                suggestionAnd(name, {names.begin(), names.end()}, all));
  }

  Expected<void> bindInput(const std::string& input, const std::vector<int64_t>& shape) {
    for (onnx::ValueInfoProto& v : *graph_.mutable_input()) {
      if (v.name() != input) continue;
      auto* dims = shapeOf(v);
      if (!dims) dims = v.mutable_type()->mutable_tensor_type()->mutable_shape();
      if (dims->dim_size() == 0) {
        for (size_t d = 0; d < shape.size(); ++d)
          dims->add_dim();
      }
      if (dims->dim_size() != static_cast<int>(shape.size()))
        return fail(ErrorKind::kUsage,
                    fmt::format("'{}' has {} dimensions, not {}", input, dims->dim_size(), shape.size()), where_);
      for (int d = 0; d < dims->dim_size(); ++d) {
        if (auto ok = bindDimension(*dims->mutable_dim(d), shape[static_cast<size_t>(d)], input, d); !ok) return ok;
      }
      return {};
    }
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& v : graph_.input())
      names.push_back(v.name());
    return fail(ErrorKind::kUsage, fmt::format("no input is called '{}'", input), where_,
                suggestionAnd(input, names, fmt::format("the inputs are {}", fmt::join(names, ", "))));
  }

  Expected<void> bindDimension(Dimension& dimension, int64_t value, const std::string& input, int d) {
    auto contradicts = [&](int64_t other) {
      return fail(ErrorKind::kUsage, fmt::format("extent {} of '{}' is {}, not {}", d, input, other, value), where_);
    };
    if (dimension.has_dim_value() && dimension.dim_value() >= 0 && dimension.dim_value() != value)
      return contradicts(dimension.dim_value());
    if (!dimension.dim_param().empty()) {
      int64_t known = extents_.byName.emplace(dimension.dim_param(), value).first->second;
      if (known != value) return contradicts(known);
      return {};
    }
    dimension.set_dim_value(value);
    return {};
  }

  void bindNames(onnx::ValueInfoProto& value, std::set<std::string>& used) const {
    auto* dims = shapeOf(value);
    if (!dims) return;
    for (Dimension& d : *dims->mutable_dim()) {
      auto it = extents_.byName.find(d.dim_param());
      if (it == extents_.byName.end()) continue;
      used.insert(it->first);
      d.set_dim_value(it->second);
    }
  }

  onnx::GraphProto& graph_;
  OpenExtents extents_;
  std::string where_;
};

}  // namespace

Expected<void> bindExtents(onnx::GraphProto& graph, const OpenExtents& extents, const std::string& where) {
  return Binder(graph, extents, where).run();
}

Expected<Model> bindExtents(const Model& model, const OpenExtents& extents, const std::string& where) {
  auto file = std::make_shared<ModelFile>(*model.file);
  if (auto ok = bindExtents(*file->proto.mutable_graph(), extents, where); !ok) return tl::unexpected(ok.error());
  return readModel(file, where);
}

}  // namespace pet
