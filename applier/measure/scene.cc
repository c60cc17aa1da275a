#include "applier/measure/scene.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "applier/view/view.h"
#include "applier/write/emit.h"
#include "ir/ops/op.h"
#include "ir/value_kinds.h"
#include "runtime/draw.h"
#include "runtime/ort/frame.h"

namespace pet {
namespace {

/// Thrown while a subgraph is built, and caught there.
struct NotBuilt {
  Error error;
};

class Scene {
 public:
  Scene(const Program& pattern, const std::optional<Surroundings>& beside, int opset)
      : pattern_(pattern), beside_(beside), opset_(opset) {}

  Expected<Model> build() {
    try {
      std::map<Value, Value> moved;
      for (int i = 0; i < static_cast<int>(pattern_.nodes().size()); ++i)
        addNode(i, moved);
      std::vector<Value> outs;
      std::vector<FrameValue> outputs;
      for (Value output : pattern_.outputs()) {
        std::string number = outs.empty() ? "" : fmt::format("/{}", outs.size());
        Value y = moved.at(output);
        builder_.name(y, kSceneSite + number);
        outs.push_back(beside_ && !beside_->isLast ? consumer(y, output, number) : y);
        std::string name = (outs.back() == y ? kSceneSite : "out") + number;
        builder_.name(outs.back(), name);
        outputs.push_back(
            {name, concrete(builder_.shape(outs.back())), static_cast<int>(builder_.element(outs.back()))});
      }
      View view = std::move(builder_).finish(outs);
      auto frame = parseModel(frameModel(inputs_, outputs, opset_), "subgraph");
      if (!frame) return tl::unexpected(frame.error());
      View placeholder;
      placeholder.provenance.push_back({.origin = 0});
      auto graph = emit(frame->graph, placeholder, view);
      if (!graph) return tl::unexpected(graph.error());
      return Model{std::move(*graph), frame->file};
    } catch (const NotBuilt& e) {
      return tl::unexpected(e.error);
    }
  }

 private:
  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    auto v = builder_.add(*findOp(op), std::move(operands), std::move(attributes), {}, {});
    if (!v) throw NotBuilt{v.error()};
    return *v;
  }

  void addNode(int index, std::map<Value, Value>& moved) {
    const Node& node = pattern_.nodes()[static_cast<size_t>(index)];
    Value v;
    if (!node.is(ops::kInput)) {
      std::vector<Value> operands;
      for (Value o : node.operands)
        operands.push_back(moved.at(o));
      auto added = builder_.add(*node.op, std::move(operands), node.attributes, node.names, {});
      if (!added) throw NotBuilt{added.error()};
      v = *added;
    } else if (isConstant(pattern_, {index, 0})) {
      const Extents extents = concrete(node.shapes[0]);
      v = isFactor({index, 0}) ? factor(node.names[0], extents)
                               : weight(node.names[0], extents, isPositive({index, 0}));
    } else {
      v = producer(node.names[0], concrete(node.shapes[0]), isImage({index, 0}));
    }
    for (int o = 0; o < static_cast<int>(node.names.size()); ++o)
      moved[{index, o}] = {v.node, o};
  }

  /// Uniform, of variance about 1 / fan-in, so that values keep their size.
  Value weight(const std::string& name, const Extents& extents, bool positive = false) {
    Tensor<float> t = drawReal(Draw(0, name), extents);
    int64_t outer = extents.empty() ? 1 : std::max<int64_t>(1, extents[0]);
    double scale = std::sqrt(3.0 * static_cast<double>(outer) / static_cast<double>(std::max<int64_t>(1, t.size())));
    for (float& x : t.data)
      x = static_cast<float>(scale) * (positive ? std::abs(x) : x);
    return builder_.constant(name, Constant::of(t));
  }

  /// Powers of two, whose products and quotients are exact: from the product of weights the weights are found again.
  Value factor(const std::string& name, const Extents& extents) {
    Tensor<float> t = drawReal(Draw(0, name), extents);
    for (float& x : t.data)
      x = std::copysign(std::exp2(-std::round(2 * std::abs(x))), x);
    return builder_.constant(name, Constant::of(t));
  }

  Value input(const std::string& name, const Extents& extents) {
    const ElementType element = isIndex(name) ? ElementType::kInt64 : ElementType::kFloat;
    inputs_.push_back({name, extents, static_cast<int>(element)});
    Value v = builder_.input(name, shapeOf(extents), element);
    builder_.name(v, name);
    return v;
  }

  bool isIndex(const std::string& name) const {
    const auto v = pattern_.find(name);
    return v && positionsChosenBy(pattern_, *v);
  }

  bool isPositive(Value v) const {
    return std::any_of(pattern_.nodes().begin(), pattern_.nodes().end(), [&](const Node& n) {
      return (n.is(ops::kBatchNormalization) && n.operands[4] == v) || (n.is(ops::kExponential) && n.operands[1] == v);
    });
  }

  bool isFactor(Value v) const {
    for (int i = 0; i < static_cast<int>(pattern_.nodes().size()); ++i) {
      const Node& n = pattern_.nodes()[static_cast<size_t>(i)];
      const bool reads = std::find(n.operands.begin(), n.operands.end(), v) != n.operands.end();
      if (reads && n.is(ops::kMul) && isConstant(pattern_, {i, 0})) return true;
    }
    return false;
  }

  /// An image has its channels in dimension 1, a matrix its features in the last one.
  bool isImage(Value v) const {
    size_t rank = pattern_.shape(v).size();
    auto multiplies = [&](const Node& n) {
      return n.is(ops::kMatMul) && std::find(n.operands.begin(), n.operands.end(), v) != n.operands.end();
    };
    bool matrix =
        pattern_.node(v).is(ops::kMatMul) || std::any_of(pattern_.nodes().begin(), pattern_.nodes().end(), multiplies);
    return rank >= 4 || (rank == 3 && !matrix);
  }

  /// x · w over the channels: a pointwise Conv of an image, a MatMul of a matrix.
  Value mix(Value x, const std::string& name, int64_t channels, bool image) {
    Extents extents = concrete(builder_.shape(x));
    if (!image) return add("MatMul", {x, weight(name, {extents.back(), channels})});
    Extents kernel(extents.size(), 1);
    kernel[0] = channels;
    kernel[1] = extents[1];
    return add("Conv", {x, weight(name, kernel)});
  }

  Value producer(const std::string& name, Extents extents, bool image) {
    size_t dim = image ? 1 : extents.size() - 1;
    if (!beside_ || extents.size() < 2 || extents[dim] <= 4 || isIndex(name)) return input(name, extents);
    const Value x = beside_->isFirst ? input(name, extents) : mixed(name, std::move(extents), dim, image);
    const Value own = pattern_.find(name).value();
    if (isRaised(own)) return add("Add", {add("Relu", {x}), one(name)});
    return isActivated(own) ? x : add("Relu", {x});
  }

  /// x' times some weights.
  Value mixed(const std::string& name, Extents extents, size_t dim, bool image) {
    const int64_t channels = std::exchange(extents[dim], std::min<int64_t>(extents[dim], kNeighbourChannels));
    return mix(input(name, extents), name + "/producer", channels, image);
  }

  Value one(const std::string& name) { return builder_.constant(name + "/one", Constant::of(Tensor<float>({}, {1}))); }

  /// To a power, which may have no value below 0, and at 0.
  bool isRaised(Value v) const {
    return std::any_of(pattern_.nodes().begin(), pattern_.nodes().end(),
                       [&](const Node& n) { return n.is(ops::kPow) && n.operands[0] == v; });
  }

  /// A function is taken of it. Models take none of an activation's result, and what is negative may take longer.
  bool isActivated(Value v) const {
    return std::any_of(pattern_.nodes().begin(), pattern_.nodes().end(), [&](const Node& n) {
      const bool isFunction = n.op->meaning == Meaning::kFunction || n.is(ops::kGreater);
      return isFunction && !n.operands.empty() && n.operands[0] == v;
    });
  }

  Value consumer(Value y, Value output, const std::string& number) {
    bool image = isImage(output);
    Extents extents = concrete(builder_.shape(y));
    const Node& last = pattern_.node(output);
    const bool isChoice = last.is(ops::kWhere) && pattern_.node(last.operands[0]).is(ops::kGreater);
    const bool isActivation = last.op->meaning == Meaning::kFunction || isChoice;
    if (!isComputed(builder_.element(y))) return y;
    const Value active = isActivation ? y : add("Relu", {y});
    if (extents.size() < 2) return active;
    int64_t channels = image ? extents[1] : extents.back();
    return channels <= 4 ? active
                         : mix(active, "consumer" + number, std::min<int64_t>(channels, kNeighbourChannels), image);
  }

  const Program& pattern_;
  std::optional<Surroundings> beside_;
  int opset_;
  ViewBuilder builder_;
  std::vector<FrameValue> inputs_;
};

}  // namespace

Expected<Model> sceneOf(const Program& pattern, const std::optional<Surroundings>& beside, int opset) {
  return Scene(pattern, beside, opset).build();
}

}  // namespace pet
