#include "applier/infer/node_inference.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/limits.h"

namespace pet {

std::string operandName(size_t i) {
  return fmt::format("operand {}", i + 1);
}

bool hasFewEntries(const Extents& extents) {
  int64_t count = 1;
  for (int64_t e : extents) {
    if (e < 0 || (e > 0 && count > kMostSizeEntries / e)) return false;
    count *= e;
  }
  return true;
}

std::optional<Extents> InferredType::extents() const {
  if (!dims) return std::nullopt;
  Extents result;
  for (const Dim& d : *dims) {
    auto k = d.asConstant();
    if (!k) return std::nullopt;
    result.push_back(*k);
  }
  return result;
}

ValueType InferredType::declaration() const {
  ValueType type{element, std::nullopt};
  if (!dims || kind != Kind::kTensor) return type;
  type.dims.emplace();
  for (const Dim& d : *dims)
    type.dims->push_back(d.asConstant());
  return type;
}

NodeInference::NodeInference(const GraphNode& node,
                             int64_t opset,
                             const InferredTypes& types,
                             Sizes& sizes,
                             BodyInference& bodies,
                             bool isExecuted)
    : node_(node),
      opset_(opset),
      types_(types),
      sizes_(sizes),
      bodies_(bodies),
      isExecuted_(isExecuted),
      results_(node.outputs.size()) {}

const InferredType& NodeInference::operand(size_t i) const {
  static const InferredType kNothing;
  auto it = has(i) ? types_.find(node_.inputs[i]) : types_.end();
  return it == types_.end() ? kNothing : it->second;
}

const Shape& NodeInference::shape(size_t i) const {
  const InferredType& type = operand(i);
  if (!type.dims || type.kind != InferredType::Kind::kTensor) nothing();
  return *type.dims;
}

const Shape& NodeInference::shapeOfRank(size_t i, size_t rank) const {
  requireRank(i, rank);
  return shape(i);
}

void NodeInference::requireRank(size_t i, size_t rank) const {
  if (hasShape(i) && operand(i).dims->size() != rank)
    invalid(fmt::format("{} has {} dimensions, not {}", operandName(i), operand(i).dims->size(), rank));
}

std::optional<SizeTensor> NodeInference::tensor(size_t i) const {
  const InferredType& type = operand(i);
  auto extents = type.extents();
  if (!extents || type.kind != InferredType::Kind::kTensor || !hasFewEntries(*extents)) return std::nullopt;
  if (type.data) return SizeTensor(*extents, *type.data);
  return SizeTensor(*extents);
}

std::optional<std::vector<std::optional<Dim>>> NodeInference::list(size_t i) const {
  auto t = tensor(i);
  if (!t) return std::nullopt;
  if (t->extents.size() > 1) invalid(fmt::format("{} is not a vector", operandName(i)));
  std::vector<std::optional<Dim>> result;
  for (const SizeEntry& e : t->data) {
    const Dim* d = std::get_if<Dim>(&e);
    result.push_back(d ? std::optional(*d) : std::nullopt);
  }
  return result;
}

std::optional<std::vector<int64_t>> NodeInference::constants(size_t i) const {
  auto entries = list(i);
  if (!entries) return std::nullopt;
  std::vector<int64_t> result;
  for (const auto& e : *entries) {
    auto k = e ? e->asConstant() : std::nullopt;
    if (!k) return std::nullopt;
    result.push_back(*k);
  }
  return result;
}

std::optional<std::vector<double>> NodeInference::numbers(size_t i) const {
  auto t = tensor(i);
  if (!t) return std::nullopt;
  std::vector<double> result;
  for (const SizeEntry& e : t->data) {
    const auto* x = std::get_if<double>(&e);
    if (!x) return std::nullopt;
    result.push_back(*x);
  }
  return result;
}

std::optional<Dim> NodeInference::scalar(size_t i) const {
  auto entries = list(i);
  return entries && entries->size() == 1 ? entries->front() : std::nullopt;
}

std::optional<int64_t> NodeInference::constant(size_t i) const {
  auto d = scalar(i);
  return d ? d->asConstant() : std::nullopt;
}

const GraphAttribute* NodeInference::attribute(std::string_view name) const {
  auto it = node_.attributes.find(name);
  return it == node_.attributes.end() ? nullptr : &it->second;
}

int64_t NodeInference::integer(std::string_view name, int64_t fallback) const {
  const GraphAttribute* a = attribute(name);
  if (!a) return fallback;
  const auto* i = std::get_if<int64_t>(a);
  if (!i) nothing();
  return *i;
}

bool NodeInference::flag(std::string_view name, bool fallback) const {
  int64_t value = integer(name, fallback ? 1 : 0);
  if (value != 0 && value != 1) nothing();
  return value == 1;
}

std::string NodeInference::text(std::string_view name, std::string_view fallback) const {
  const GraphAttribute* a = attribute(name);
  if (!a) return std::string(fallback);
  const auto* s = std::get_if<std::string>(a);
  if (!s) nothing();
  return *s;
}

std::optional<std::vector<int64_t>> NodeInference::integers(std::string_view name) const {
  const GraphAttribute* a = attribute(name);
  if (!a) return std::nullopt;
  const auto* list = std::get_if<std::vector<int64_t>>(a);
  if (!list) nothing();
  return *list;
}

const Subgraph& NodeInference::subgraph(std::string_view name) const {
  const GraphAttribute* a = attribute(name);
  const auto* body = a ? std::get_if<Subgraph>(a) : nullptr;
  if (!body) nothing();
  return *body;
}

GivenList NodeInference::givenList(std::string_view name, size_t i, int64_t since) const {
  if (opset_ >= since) return has(i) ? GivenList{true, constants(i)} : GivenList{};
  auto values = integers(name);
  return {values.has_value(), values};
}

size_t NodeInference::axis(int64_t axis, size_t rank) const {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) invalid(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::set<size_t> NodeInference::axes(const std::vector<int64_t>& list, size_t rank) const {
  std::set<size_t> result;
  for (int64_t a : list)
    result.insert(axis(a, rank));
  return result;
}

InferredType& NodeInference::result(size_t i) {
  if (i >= results_.size()) results_.resize(i + 1);  // said of a result that the node leaves out
  return results_[i];
}

void NodeInference::setShape(size_t i, Shape dims) {
  if (dims.size() > kMostDimensions) nothing();
  for (Dim& d : dims) {
    if (auto k = d.asConstant(); k && *k < 0) d = open();
  }
  result(i).kind = InferredType::Kind::kTensor;
  result(i).dims = std::move(dims);
}

void NodeInference::setElement(size_t i, ElementType element) {
  result(i).kind = InferredType::Kind::kTensor;
  result(i).element = element;
}

void NodeInference::setData(size_t i, SizeTensor tensor) {
  bool known = std::any_of(tensor.data.begin(), tensor.data.end(), [](const SizeEntry& e) { return e.index() != 0; });
  if (known && tensor.size() <= kMostSizeEntries) result(i).data = std::move(tensor.data);
}

Shape NodeInference::open(size_t rank) const {
  if (rank > kMostDimensions) nothing();
  Shape dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(open());
  return dims;
}

void NodeInference::requireEqual(const Dim& a, const Dim& b, std::string_view what, bool isChecked) const {
  auto x = a.asConstant(), y = b.asConstant();
  if (x && y && *x != *y) invalid(fmt::format("{}: {} and {}", what, *x, *y));
  if (isExecuted_ && isChecked) sizes_.equate(a, b);
}

}  // namespace pet
