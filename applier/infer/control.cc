// If, Loop and Scan: what their subgraphs give.

#include <algorithm>

#include "applier/infer/rules.h"

namespace pet {
namespace {

using ControlKind = InferredType::Kind;

/// What is known of a value that is the one or the other.
InferredType either(const NodeInference& n, const InferredType& a, const InferredType& b) {
  if (a.kind != b.kind || a.element != b.element) return {};
  InferredType type{a.kind, a.element};
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) return type;
  type.dims.emplace();
  for (size_t d = 0; d < a.dims->size(); ++d)
    type.dims->push_back((*a.dims)[d] == (*b.dims)[d] ? (*a.dims)[d] : n.open());
  if (a.data == b.data) type.data = a.data;
  return type;
}

void inferIf(NodeInference& n) {
  auto then = n.outputsOf(n.subgraph("then_branch"), {}), otherwise = n.outputsOf(n.subgraph("else_branch"), {});
  const auto condition = n.constant(0);
  for (size_t i = 0; i < n.resultCount() && i < std::min(then.size(), otherwise.size()); ++i)
    n.result(i) = condition ? (*condition != 0 ? then : otherwise)[i] : either(n, then[i], otherwise[i]);
}

/// A value that each execution of a body hands to the next. Of a dimension that the body does not keep, each execution
/// has another extent: the symbol stands for that of any.
struct Carried {
  InferredType type;
  std::vector<bool> changes = {};  ///< per dimension
};

/// Takes in what an execution makes of the value; true if nothing new came of it.
bool widen(const NodeInference& n, Carried& value, const InferredType& next) {
  InferredType& type = value.type;
  const InferredType before = type;
  if (next.kind != ControlKind::kUnknown && type.kind != next.kind) type = {};
  if (type.element != next.element && next.element != ElementType::kUnknown) type.element = ElementType::kUnknown;
  if (type.dims && (!next.dims || next.dims->size() != type.dims->size())) type.dims.reset();
  value.changes.resize(type.dims ? type.dims->size() : 0);
  for (size_t d = 0; d < value.changes.size(); ++d) {
    if (value.changes[d] || (*type.dims)[d] == (*next.dims)[d]) continue;
    value.changes[d] = true;
    (*type.dims)[d] = n.sizes().varying();
  }
  if (type.data != next.data || type.dims != before.dims) type.data.reset();
  return type == before;
}

struct Repeated {
  std::vector<Carried> carried;
  std::vector<InferredType> collected;  ///< of each execution
};

/// `first`, what is carried and `last` go into the body; what is carried and what is collected come out. Each round but
/// the last forgets something, so there are few.
Repeated repeated(const NodeInference& n,
                  const Subgraph& body,
                  const std::vector<InferredType>& first,
                  std::vector<Carried> carried,
                  const std::vector<InferredType>& last) {
  if (body->inputs.size() != first.size() + carried.size() + last.size() || body->outputs.size() < carried.size())
    NodeInference::nothing();
  const size_t moment = n.sizes().moment();
  for (;;) {
    std::vector<InferredType> inputs = first;
    for (const Carried& value : carried)
      inputs.push_back(value.type);
    inputs.insert(inputs.end(), last.begin(), last.end());
    auto outputs = n.outputsOf(body, inputs);
    bool isStable = true;
    for (size_t i = 0; i < carried.size(); ++i)
      isStable = widen(n, carried[i], outputs[i]) && isStable;
    if (!isStable) continue;
    outputs.erase(outputs.begin(), outputs.begin() + std::ssize(carried));
    for (InferredType& type : outputs) {
      type.data.reset();
      for (size_t d = 0; type.dims && d < type.dims->size(); ++d) {
        if (!n.sizes().isFrom((*type.dims)[d], moment)) (*type.dims)[d] = n.open();
      }
    }
    return {std::move(carried), std::move(outputs)};
  }
}

/// After the last execution.
void giveCarried(NodeInference& n, size_t i, Carried value) {
  for (size_t d = 0; d < value.changes.size(); ++d) {
    if (value.changes[d]) (*value.type.dims)[d] = n.open();
  }
  n.result(i) = std::move(value.type);
}

/// With one more dimension, which counts the executions.
void giveCollected(NodeInference& n, size_t i, InferredType type, const Dim& count, int64_t axis) {
  if (type.dims) {
    size_t at = n.axis(axis, type.dims->size() + 1);
    type.dims->insert(type.dims->begin() + static_cast<std::ptrdiff_t>(at), count);
  }
  n.result(i) = std::move(type);
}

/// A scalar that the body gets, or of the extents that it says.
InferredType counter(const Subgraph& body, size_t input, ElementType element) {
  InferredType type{ControlKind::kTensor, element};
  auto declared = input < body->inputs.size() ? body->types.find(body->inputs[input]) : body->types.end();
  if (declared == body->types.end()) return type;
  if (auto extents = declared->second.extents()) type.dims = Shape(extents->begin(), extents->end());
  return type;
}

void inferLoop(NodeInference& n) {
  const Subgraph& body = n.subgraph("body");
  std::vector<Carried> carried{{counter(body, 1, ElementType::kBool)}};
  const std::vector<SizeEntry> goesOn{Dim(1)};
  if (!n.has(1) || n.constant(1) == 1) carried[0].type.data = goesOn;
  for (size_t i = 2; i < n.operandCount(); ++i)
    carried.push_back({n.operand(i)});
  auto [values, collected] = repeated(n, body, {counter(body, 0, ElementType::kInt64)}, std::move(carried), {});
  for (size_t i = 1; i < values.size(); ++i)
    giveCarried(n, i - 1, std::move(values[i]));
  auto most = n.has(0) && values[0].type.data == goesOn ? n.scalar(0) : std::nullopt;
  const Dim count = most && n.sizes().least(*most).value_or(-1) >= 0 ? *most : n.open();
  for (size_t i = 0; i < collected.size(); ++i)
    giveCollected(n, values.size() - 1 + i, std::move(collected[i]), count, 0);
}

int64_t axisAt(const std::optional<std::vector<int64_t>>& axes, size_t i) {
  return axes && i < axes->size() ? (*axes)[i] : 0;
}

void inferScan(NodeInference& n) {
  const Subgraph& body = n.subgraph("body");
  const int64_t sliced = n.integer("num_scan_inputs", 0);
  if (n.opset() < 9 || sliced < 1 || sliced > std::ssize(n.node().inputs)) NodeInference::nothing();
  const size_t states = n.operandCount() - static_cast<size_t>(sliced);
  const auto from = n.integers("scan_input_axes"), to = n.integers("scan_output_axes");
  std::vector<Carried> carried;
  for (size_t i = 0; i < states; ++i)
    carried.push_back({n.operand(i)});
  std::optional<Dim> count;
  std::vector<InferredType> slices;
  for (size_t i = states; i < n.operandCount(); ++i) {
    InferredType slice{n.operand(i).kind, n.operand(i).element, n.operand(i).dims};
    if (slice.dims) {
      size_t at = n.axis(axisAt(from, i - states), slice.dims->size());
      count = count ? n.sizes().sharper(*count, (*slice.dims)[at]) : (*slice.dims)[at];
      slice.dims->erase(slice.dims->begin() + static_cast<std::ptrdiff_t>(at));
    }
    slices.push_back(std::move(slice));
  }
  auto [values, collected] = repeated(n, body, {}, std::move(carried), slices);
  for (size_t i = 0; i < values.size(); ++i)
    giveCarried(n, i, std::move(values[i]));
  for (size_t i = 0; i < collected.size(); ++i)
    giveCollected(n, values.size() + i, std::move(collected[i]), count.value_or(n.open()), axisAt(to, i));
}

constexpr InferRule kControlRules[] = {
    {"If", inferIf},
    {"Loop", inferLoop},
    {"Scan", inferScan},
};

}  // namespace

std::span<const InferRule> controlRules() {
  return kControlRules;
}

}  // namespace pet
