// What the rows of the emission table are written with.

#include "applier/operators/emission.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace pet {

std::string NodeSink::unique(const std::string& base, std::set<std::string, std::less<>>& taken) {
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i)
    name = fmt::format("{}_{}", base, i);
  return name;
}

std::string NodeSink::initializer(const std::string& base, const Constant& value) {
  for (const Initializer& i : graph_.initializers) {
    bool same = !i.overridable && i.value.element == value.element && i.value.extents == value.extents &&
                i.value.bytes && *i.value.bytes == *value.bytes;
    if (same) return i.name;
  }
  graph_.initializers.push_back({uniqueValue(base), value, false, -1});
  return graph_.initializers.back().name;
}

std::vector<int64_t> Emission::list(std::string_view name) const {
  std::vector<int64_t> values;
  for (const Expr& e : node().list(name))
    values.push_back(e.asConstant().value());
  return values;
}

void Emission::add(std::string_view type,
                   std::vector<std::string> inputs,
                   std::vector<std::string> outputs,
                   OnnxAttributes attributes) const {
  GraphNode n;
  n.name = sink_.uniqueNode(node().names[0]);
  n.type = type;
  n.attributes = std::move(attributes);
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  sink_.node(std::move(n));
}

std::string Emission::last(std::string_view type, std::vector<std::string> inputs, OnnxAttributes attributes) const {
  add(type, std::move(inputs), {output()}, std::move(attributes));
  return output();
}

std::string Emission::step(std::string_view type, std::vector<std::string> inputs, OnnxAttributes attributes) const {
  std::string name = sink_.uniqueValue(fmt::format("{}/{}", node().names[0], type));
  add(type, std::move(inputs), {name}, std::move(attributes));
  return name;
}

std::string Emission::integers(std::string_view what, const std::vector<int64_t>& values) const {
  auto n = static_cast<int64_t>(values.size());
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what), Constant::of(Tensor<int64_t>({n}, values)));
}

std::string Emission::number(std::string_view what, double value) const {
  std::string base = fmt::format("{}/{}", node().names[0], what);
  if (sink_.element() == ElementType::kDouble)
    return sink_.initializer(base, Constant::of(Tensor<double>({}, {value})));
  return sink_.initializer(base, Constant::of(Tensor<float>({}, {static_cast<float>(value)})));
}

std::string Emission::numbers(std::string_view what, const std::vector<double>& values) const {
  auto n = static_cast<int64_t>(values.size());
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what),
                           Constant::of(Tensor<float>({n}, {values.begin(), values.end()})));
}

void Emission::require(int64_t since, std::string_view what) const {
  if (opset() < since) throw NotEmitted{fmt::format("{} needs opset {}, the model has {}", what, since, opset())};
}

std::string Emission::reshape(const std::string& x, const Extents& from, const Extents& to, bool isLast) const {
  if (from == to) return isLast ? last("Identity", {x}) : x;
  require(5, "Reshape");
  // A 0 in the shape would copy the operand's extent.
  if (std::find(to.begin(), to.end(), 0) != to.end()) throw NotEmitted{"a Reshape to an empty tensor"};
  std::vector<std::string> inputs{x, integers("shape", to)};
  return isLast ? last("Reshape", inputs) : step("Reshape", inputs);
}

std::string Emission::transpose(const std::string& x, const std::vector<int64_t>& perm, bool isLast) const {
  if (std::is_sorted(perm.begin(), perm.end())) return isLast ? last("Identity", {x}) : x;
  return isLast ? last("Transpose", {x}, {{"perm", perm}}) : step("Transpose", {x}, {{"perm", perm}});
}

std::string Emission::slice(const std::string& x,
                            const Extents& extents,
                            const std::vector<Range>& ranges,
                            bool isLast) const {
  std::vector<int64_t> axes, starts, ends, steps;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (ranges[d].start == 0 && ranges[d].end >= extents[d] && ranges[d].step == 1) continue;
    axes.push_back(static_cast<int64_t>(d));
    starts.push_back(ranges[d].start);
    ends.push_back(ranges[d].end);
    steps.push_back(ranges[d].step);
  }
  if (axes.empty()) return isLast ? last("Identity", {x}) : x;
  std::vector<std::string> inputs{x};
  OnnxAttributes attributes;
  bool unitSteps = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  if (opset() >= 10) {
    inputs.insert(inputs.end(), {integers("starts", starts), integers("ends", ends), integers("axes", axes)});
    if (!unitSteps) inputs.push_back(integers("steps", steps));
  } else {
    if (!unitSteps) require(10, "Slice with steps");
    attributes = {{"axes", axes}, {"starts", starts}, {"ends", ends}};
  }
  return isLast ? last("Slice", inputs, attributes) : step("Slice", inputs, attributes);
}

std::string Emission::pad(
    const std::string& x, const std::vector<int64_t>& pads, double value, const std::string& mode, bool isLast) const {
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; }))
    return isLast ? last("Identity", {x}) : x;
  std::vector<std::string> inputs{x};
  OnnxAttributes attributes{{"mode", mode}};
  if (opset() >= 11) {
    inputs.push_back(integers("pads", pads));
    if (value != 0) inputs.push_back(number("value", value));
  } else {
    require(2, "Pad");
    attributes.emplace("pads", pads);
    attributes.emplace("value", static_cast<float>(value));
  }
  return isLast ? last("Pad", inputs, attributes) : step("Pad", inputs, attributes);
}

const EmitRow* findEmit(std::string_view op) {
  for (auto family : {emitConvRows(), emitLayoutRows(), emitFunctionRows()}) {
    for (const EmitRow& row : family) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

std::optional<std::string> whyNotEmitted(const Program& replacement, int64_t opset) {
  Graph scratch;
  scratch.opset = opset;
  NodeSink sink(scratch, ElementType::kFloat);
  auto constant = constantNodes(replacement);
  auto empty = [&](Value v) { return elementCount(concrete(replacement.shape(v))) == 0; };
  for (int i = 0; i < static_cast<int>(replacement.nodes().size()); ++i) {
    const Node& n = replacement.nodes()[static_cast<size_t>(i)];
    // Empty values never reach the model.
    if (constant[static_cast<size_t>(i)] || n.op->name == "Input" || empty({i, 0})) continue;
    const EmitRow* row = findEmit(n.op->name);
    if (!row) return fmt::format("{} cannot be written as ONNX", n.op->name);
    if (opset < row->since) return fmt::format("{} needs opset {}, the model has {}", n.op->name, row->since, opset);
    std::vector<std::string> operands;
    for (Value v : n.operands)
      operands.push_back(replacement.name(v));
    try {
      row->emit(Emission(sink, replacement, i, std::move(operands), n.names));
    } catch (const NotEmitted& e) {
      return e.reason;
    }
  }
  return std::nullopt;
}

}  // namespace pet
