#include "applier/operators/emission.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "applier/operators/onnx_rows.h"
#include "applier/view/element_types.h"
#include "ir/ops/op.h"

namespace pet {

namespace {

/// What tells most values apart. The rest of them is not looked at, which may not have been read yet.
std::string startOf(const Bytes& bytes) {
  return std::string(bytes->substr(0, 64));
}

}  // namespace

std::string NodeSink::initializer(const std::string& base, const Constant& value) {
  for (; known_ < graph_.initializers.size(); ++known_) {
    const Initializer& i = graph_.initializers[known_];
    if (!i.overridable && i.value.bytes) alike_[{i.value.element, i.value.extents}].others.push_back(known_);
  }
  Alike& alike = alike_[{value.element, value.extents}];
  for (size_t i : std::exchange(alike.others, {}))
    alike.byStart[startOf(graph_.initializers[i].value.bytes)].push_back(i);
  for (size_t i : alike.byStart[startOf(value.bytes)]) {
    if (*graph_.initializers[i].value.bytes == *value.bytes) return graph_.initializers[i].name;
  }
  graph_.initializers.push_back({uniqueValue(base), value, false, -1});
  return graph_.initializers.back().name;
}

bool Emission::isTruth(size_t operand) const {
  return pet::isTruth(program_, node().operands[operand]);
}

std::vector<int64_t> Emission::list(std::string_view name) const {
  std::vector<int64_t> values;
  for (const Expr& e : node().list(name)) {
    auto value = e.asConstant();
    if (!value) throw NotEmitted{fmt::format("{} of {} would depend on the sizes left open", name, node().op->name)};
    values.push_back(*value);
  }
  return values;
}

Extents Emission::numbers(const Shape& shape) {
  auto extents = asConstants(shape);
  if (!extents) throw NotEmitted{fmt::format("the extents {} are left open", str(shape))};
  return *extents;
}

namespace {

/// ONNX has these operators for all types, in recent opsets, and ONNX Runtime does not.
bool isMissing(std::string_view type, ElementType element) {
  const bool isOf8Bits = element == ElementType::kInt8 || element == ElementType::kUint8;
  const bool isOf16Bits = element == ElementType::kInt16 || element == ElementType::kUint16;
  if (type == "Pad") return isOf16Bits;
  if (type == "Where") return isOf16Bits || element == ElementType::kUint64 || element == ElementType::kBool;
  return (type == "DepthToSpace" || type == "SpaceToDepth") && !isComputed(element) && !isOf8Bits;
}

}  // namespace

void Emission::add(std::string_view type,
                   std::vector<std::string> inputs,
                   std::vector<std::string> outputs,
                   OnnxAttributes attributes) const {
  if (isMissing(type, sink_.element()))
    throw NotEmitted{fmt::format("ONNX Runtime has no {} of {}", type, str(sink_.element()))};
  if (type == "Relu" && !isComputed(sink_.element())) require(14, fmt::format("Relu of {}", str(sink_.element())));
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
  return integers(what, Tensor<int64_t>({static_cast<int64_t>(values.size())}, values));
}

std::string Emission::integers(std::string_view what, const Tensor<int64_t>& values) const {
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what), Constant::of(values));
}

std::string Emission::integer(std::string_view what, int64_t value) const {
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what), Constant::of(Tensor<int64_t>({}, {value})));
}

std::string Emission::number(std::string_view what, double value) const {
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what),
                           Constant::rounded(sink_.element(), Tensor<double>({}, {value})));
}

std::string Emission::indices(std::string_view what, const Tensor<int64_t>& values) const {
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what), Constant::whole(sink_.index(), values));
}

std::string Emission::numbers(std::string_view what, const std::vector<double>& values) const {
  auto n = static_cast<int64_t>(values.size());
  return sink_.initializer(fmt::format("{}/{}", node().names[0], what),
                           Constant::of(Tensor<float>({n}, {values.begin(), values.end()})));
}

void Emission::require(int64_t since, std::string_view what) const {
  if (opset() < since) throw NotEmitted{fmt::format("{} needs opset {}, the model has {}", what, since, opset())};
}

namespace {

constexpr int64_t kOpen = -1;

/// A Reshape's target: numbers, 0 for an extent that is copied, and kOpen for all others. Throws NotEmitted.
std::vector<int64_t> reshapeTarget(const Shape& from, const Shape& to) {
  std::vector<int64_t> target;
  for (size_t d = 0; d < to.size(); ++d) {
    auto number = to[d].asConstant();
    bool stays = d < from.size() && from[d] == to[d];
    // A 0 in the shape copies the operand's extent.
    if (number == 0) throw NotEmitted{"a Reshape to an empty tensor"};
    target.push_back(number ? *number : stays ? 0 : kOpen);
  }
  return target;
}

}  // namespace

std::string Emission::target(const Shape& from, const Shape& to) const {
  const std::vector<int64_t> target = reshapeTarget(from, to);
  if (std::count(target.begin(), target.end(), kOpen) <= 1) return integers("shape", target);
  // All but the last open one are computed. Beside quotients the last one is computed as well: who reads the model
  // divides all elements by the others, which are then no factors of them.
  const bool divides = std::any_of(to.begin(), to.end(), [&](const Dim& extent) { return sink_.isQuotient(extent); });
  std::vector<std::optional<int64_t>> known(target.begin(), target.end());
  std::replace(known.begin(), known.end(), std::optional(kOpen), std::optional<int64_t>());
  if (!divides) *std::find(known.rbegin(), known.rend(), std::nullopt) = kOpen;
  return sizes("shape", to, known);
}

std::string Emission::sizes(std::string_view what, const Shape& extents) const {
  std::vector<std::optional<int64_t>> known;
  for (const Dim& extent : extents)
    known.push_back(extent.asConstant());
  return sizes(what, extents, known);
}

std::string Emission::sizes(std::string_view what,
                            const Shape& extents,
                            const std::vector<std::optional<int64_t>>& known) const {
  std::vector<std::string> parts;
  std::vector<int64_t> numbers;  // what is known in between is one constant
  auto flush = [&] {
    if (!numbers.empty()) parts.push_back(integers(what, numbers));
    numbers.clear();
  };
  for (size_t d = 0; d < extents.size(); ++d) {
    if (known[d]) {
      numbers.push_back(*known[d]);
      continue;
    }
    flush();
    parts.push_back(sink_.size(extents[d]));
  }
  flush();
  return parts.size() == 1 ? parts[0] : sink_.concatenated(parts);
}

std::string Emission::reshape(const std::string& x, const Shape& from, const Shape& to, bool isLast) const {
  if (from == to) return isLast ? last("Identity", {x}) : x;
  require(5, "Reshape");
  std::vector<std::string> inputs{x, target(from, to)};
  return isLast ? last("Reshape", inputs) : step("Reshape", inputs);
}

std::string Emission::transpose(const std::string& x, const std::vector<int64_t>& perm, bool isLast) const {
  if (std::is_sorted(perm.begin(), perm.end())) return isLast ? last("Identity", {x}) : x;
  return isLast ? last("Transpose", {x}, {{"perm", perm}}) : step("Transpose", {x}, {{"perm", perm}});
}

std::string Emission::slice(const std::string& x,
                            const Shape& shape,
                            const std::vector<Range>& ranges,
                            bool isLast) const {
  std::vector<int64_t> axes, starts, ends, steps;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto extent = shape[d].asConstant();
    bool all = !ranges[d].end || (extent && *ranges[d].end >= *extent);
    if (ranges[d].start == 0 && all && ranges[d].step == 1) continue;
    axes.push_back(static_cast<int64_t>(d));
    starts.push_back(ranges[d].start);
    ends.push_back(ranges[d].end.value_or(std::numeric_limits<int32_t>::max()));
    steps.push_back(ranges[d].step);
  }
  if (axes.empty()) return isLast ? last("Identity", {x}) : x;
  if (std::all_of(steps.begin(), steps.end(), [](int64_t by) { return by == 1; })) steps.clear();
  OnnxForm form =
      formOf(*this, *findWriter("Slice"), {x},
             {{"starts", exprs(starts)}, {"ends", exprs(ends)}, {"axes", exprs(axes)}, {"steps", exprs(steps)}});
  return isLast ? last("Slice", form.operands, form.attributes) : step("Slice", form.operands, form.attributes);
}

std::string Emission::pad(
    const std::string& x, const std::vector<int64_t>& pads, double value, const std::string& mode, bool isLast) const {
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; }))
    return isLast ? last("Identity", {x}) : x;
  const ElementType element = sink_.element();
  if (!isComputed(element)) require(element == ElementType::kBool ? 13 : 11, fmt::format("Pad of {}", str(element)));
  const ZeroPoint& zero = sink_.zero();
  const double stored = value + static_cast<double>(zero.number);
  if (!isComputed(element) && !hasNumber(element, stored))
    throw NotEmitted{fmt::format("{} has no {}", str(element), stored)};
  const OnnxRow& row = *findWriter("Pad");
  OnnxForm form = formOf(*this, row, {x}, {{"pads", exprs(pads)}, {"mode", mode}, {"value", stored}});
  if (!zero.name.empty()) {
    if (value != 0) throw NotEmitted{"a Pad with a number beside a zero point that is computed"};
    form.operands.resize(static_cast<size_t>(row["value"].operand));
    form.operands.push_back(zero.name);
  }
  return isLast ? last("Pad", form.operands, form.attributes) : step("Pad", form.operands, form.attributes);
}

}  // namespace pet
