#include "session/kernels/node_call.h"

#include <algorithm>
#include <map>

namespace pet::session {
namespace {

[[noreturn]] void otherKind(std::string_view name) {
  throw BadNode{fmt::format("attribute '{}' is of another kind", name)};
}

template <class T>
const T* attributeAs(const GraphAttribute* a, std::string_view name) {
  if (!a) return nullptr;
  const auto* value = std::get_if<T>(a);
  if (!value) otherKind(name);
  return value;
}

std::map<std::string_view, const KernelRow*> joinKernels() {
  std::map<std::string_view, const KernelRow*> all;
  for (auto family :
       {elementKernels(), castKernels(), moveKernels(), windowMoveKernels(), gatherKernels(), scatterKernels(),
        makeKernels(), orderKernels(), poolKernels(), reduceKernels(), detectionKernels(), recurrentKernels(),
        quantizeKernels(), normalizationKernels(), sampleKernels(), attentionKernels()}) {
    for (const KernelRow& row : family)
      all.emplace(row.type, &row);
  }
  return all;
}

}  // namespace

const Constant& NodeCall::operand(size_t i) const {
  if (!has(i)) throw BadNode{fmt::format("operand {} is missing", i)};
  return *operands_[i];
}

const GraphAttribute* NodeCall::attribute(std::string_view name) const {
  auto it = node_.attributes.find(name);
  return it == node_.attributes.end() ? nullptr : &it->second;
}

int64_t NodeCall::integer(std::string_view name, int64_t fallback) const {
  const auto* value = attributeAs<int64_t>(attribute(name), name);
  return value ? *value : fallback;
}

double NodeCall::number(std::string_view name, double fallback) const {
  const auto* value = attributeAs<float>(attribute(name), name);
  return value ? *value : fallback;
}

std::string NodeCall::text(std::string_view name, std::string_view fallback) const {
  const auto* value = attributeAs<std::string>(attribute(name), name);
  return value ? *value : std::string(fallback);
}

std::optional<std::vector<int64_t>> NodeCall::integers(std::string_view name) const {
  const auto* value = attributeAs<std::vector<int64_t>>(attribute(name), name);
  return value ? std::optional(*value) : std::nullopt;
}

std::vector<std::string> NodeCall::texts(std::string_view name) const {
  const auto* value = attributeAs<std::vector<std::string>>(attribute(name), name);
  return value ? *value : std::vector<std::string>();
}

std::vector<double> NodeCall::numbers(std::string_view name) const {
  const auto* value = attributeAs<std::vector<float>>(attribute(name), name);
  return value ? std::vector<double>(value->begin(), value->end()) : std::vector<double>();
}

std::optional<std::vector<int64_t>> NodeCall::given(std::string_view name, size_t i, int64_t since) const {
  if (opset_ < since) return integers(name);
  return has(i) ? std::optional(integersOf(operand(i))) : std::nullopt;
}

int64_t NodeCall::scalar(size_t i) const {
  const auto values = integersOf(operand(i));
  if (values.size() != 1) throw BadNode{fmt::format("operand {} is not one number", i)};
  return values[0];
}

size_t NodeCall::axis(int64_t axis, size_t rank) const {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) throw BadNode{fmt::format("axis {} of a tensor of rank {}", axis, rank)};
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

const KernelRow* findKernel(std::string_view type) {
  static const std::map<std::string_view, const KernelRow*> kTable = joinKernels();
  auto it = kTable.find(type);
  return it == kTable.end() ? nullptr : it->second;
}

std::vector<Constant> runKernel(const KernelRow& row, const NodeCall& call, const PreparedOperands& prepared) {
  if (!row.widens) return row.run(call);
  std::vector<Constant> wide(call.operandCount());
  std::vector<const Constant*> operands(call.operandCount(), nullptr);
  for (size_t i = 0; i < call.operandCount(); ++i) {
    if (!call.has(i)) continue;
    auto ready = prepared.find(i);
    const Constant& given = ready == prepared.end() ? call.operand(i) : ready->second;
    wide[i] = widened(row.prepare && ready == prepared.end() ? row.prepare(i, given) : given);
    operands[i] = &wide[i];
  }
  auto results = row.run(NodeCall(call.node(), call.opset(), operands));
  if (row.like < 0) return results;
  const ElementType element = call.operand(static_cast<size_t>(row.like)).element;
  // Of integers only the first result: a TopK's positions are int64 whatever it sorts.
  const size_t count = isComputed(element) ? results.size() : std::min<size_t>(results.size(), 1);
  for (size_t i = 0; i < count; ++i) {
    if (results[i].bytes && results[i].element == widenedType(element)) results[i] = narrowedTo(element, results[i]);
  }
  return results;
}

}  // namespace pet::session
