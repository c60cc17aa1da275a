#include "session/byte_nodes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "session/kernels/bytes.h"
#include "session/node_runner.h"

namespace pet::session {
namespace {

/// Integers of 8 bits with one scale, as a ByteProgram has them.
struct Numbers {
  std::string bytes;
  Extents extents;
  ByteScale scale;
};

/// Constant integers of 8 bits with a scale for each position of one axis.
struct Weights {
  Extents extents;
  std::vector<int8_t> integers;
  std::vector<float> scale;
};

/// Bytes that a result may have.
struct Range {
  uint8_t least = 0, most = 255;
};

bool isSame(const ByteScale& a, const ByteScale& b) {
  return a.scale == b.scale && a.zero == b.zero;
}

uint8_t quantized(float x, const ByteScale& scale) {
  uint8_t y = 0;
  quantizeBytes(&x, &y, 1, scale.scale, static_cast<float>(scale.zero));
  return y;
}

int64_t positionsOf(const Extents& extents) {
  return elementCount({extents.begin() + 2, extents.end()});
}

ByteKernel quantizeKernel(const Extents& extents, const ByteScale& scale) {
  return [=, there = std::vector<uint8_t>(static_cast<size_t>(elementCount(extents)))](const uint8_t* const* from,
                                                                                       uint8_t* to) mutable {
    quantizeBytes(reinterpret_cast<const float*>(from[0]), there.data(), std::ssize(there), scale.scale,
                  static_cast<float>(scale.zero));
    toChannelsLast(there.data(), extents, to);
  };
}

ByteKernel dequantizeKernel(const Extents& extents, const ByteScale& scale) {
  return [=, here = std::vector<uint8_t>(static_cast<size_t>(elementCount(extents)))](const uint8_t* const* from,
                                                                                      uint8_t* to) mutable {
    fromChannelsLast(from[0], extents, here.data());
    dequantizeBytes(here.data(), reinterpret_cast<float*>(to), std::ssize(here), scale.scale,
                    static_cast<float>(scale.zero));
  };
}

ByteKernel preparedKernel(std::unique_ptr<PreparedBytes> made) {
  return [convolution = std::shared_ptr<PreparedBytes>(std::move(made))](const uint8_t* const* from, uint8_t* to) {
    if (auto ok = convolution->run(from[0], to); !ok) throw BadNode{ok.error().message()};
  };
}

/// The same integers, of another scale or between others.
ByteTable requantized(const ByteScale& x, const ByteScale& y, const Range& range) {
  ByteTable table;
  for (int q = 0; q < 256; ++q) {
    const uint8_t byte = quantized(static_cast<float>(q - x.zero) * x.scale, y);
    table[static_cast<size_t>(q)] = std::clamp(byte, range.least, range.most);
  }
  return table;
}

/// A kernel whose results are of x's scale, and what is made of them to be of y's.
ByteKernel rescaled(ByteKernel kernel, int64_t count, const ByteScale& x, const ByteScale& y, const Range& range) {
  if (isSame(x, y) && range.least == 0 && range.most == 255) return kernel;
  return
      [kernel = std::move(kernel), count, table = requantized(x, y, range)](const uint8_t* const* from, uint8_t* to) {
        kernel(from, to);
        lookUp(table, to, to, count);
      };
}

/// w[n, k] of w[k, n].
std::vector<int8_t> transposed(const std::vector<int8_t>& w, int64_t rows, int64_t columns) {
  std::vector<int8_t> result(w.size());
  for (int64_t i = 0; i < rows * columns; ++i)
    result[static_cast<size_t>(i % columns * rows + i / columns)] = w[static_cast<size_t>(i)];
  return result;
}

/// Of one number, with nothing but constants of one element beside it.
constexpr std::string_view kFunctions[] = {"Relu",        "Clip", "LeakyRelu", "Sigmoid", "Tanh",     "HardSwish",
                                           "HardSigmoid", "Elu",  "Gelu",      "Erf",     "Softplus", "Mish"};

class Recogniser {
 public:
  Recogniser(const GraphFacts& facts, const ByteEngine& engine) : facts_(facts), engine_(engine) {}

  std::optional<ByteNode> run(const GraphNode& node) {
    if (!node.standard || node.outputs.size() != 1 || node.inputs.size() < 2) return std::nullopt;
    try {
      if (node.type == "DequantizeLinear") return dequantize(node);
      return node.type == "QuantizeLinear" ? quantize(node) : std::nullopt;
    } catch (const BadNode&) {
      return std::nullopt;  // it is said when the node runs
    } catch (const FailedNode&) {
      return std::nullopt;
    }
  }

 private:
  // --- What nodes say. ---

  NodeCall attributesOf(const GraphNode& node) const { return {node, facts_.graph().opset, {}}; }

  /// Of a QuantizeLinear or a DequantizeLinear between floating point and integers of this type.
  std::optional<ByteScale> scaleOf(const GraphNode& node, ElementType element) const {
    if (element != ElementType::kUint8 && element != ElementType::kInt8) return std::nullopt;
    const Constant* scale = facts_.constant(node.inputs[1]);
    if (!scale || scale->element != ElementType::kFloat || elementCount(scale->extents) != 1) return std::nullopt;
    int64_t zero = 0;
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const Constant* given = facts_.constant(node.inputs[2]);
      if (!given || given->element != element || elementCount(given->extents) != 1) return std::nullopt;
      zero = integersOf(*given)[0];
    }
    const float number = scale->values<float>().data[0];
    if (!(number > 0) || std::isinf(number)) return std::nullopt;
    return ByteScale{number, static_cast<int32_t>(zero) + signShift(element)};
  }

  /// What a DequantizeLinear makes of integers that are no constants.
  std::optional<Numbers> numbersOf(const GraphNode* node) const {
    if (!node || !node->standard || node->type != "DequantizeLinear" || facts_.constant(node->inputs[0]))
      return std::nullopt;
    const auto scale = scaleOf(*node, facts_.element(node->inputs[0]));
    const auto extents = facts_.extents(node->inputs[0]);
    if (!scale || !extents || elementCount(*extents) == 0) return std::nullopt;
    return Numbers{node->inputs[0], *extents, *scale};
  }
  std::optional<Numbers> numbers(const std::string& name) const { return numbersOf(facts_.producer(name)); }

  /// `axis`: along which scales may differ. The integers are moved so that 0 stands for 0.
  std::optional<Weights> weights(const std::string& name, size_t axis) const {
    const GraphNode* node = facts_.producer(name);
    if (!node || !node->standard || node->type != "DequantizeLinear") return std::nullopt;
    const Constant *q = facts_.constant(node->inputs[0]), *scale = facts_.constant(node->inputs[1]);
    const bool fits = q && scale && (q->element == ElementType::kInt8 || q->element == ElementType::kUint8);
    if (!fits || axis >= q->extents.size()) return std::nullopt;
    Weights w{q->extents, {}, scale->values<float>().data};
    const auto channels = static_cast<size_t>(q->extents[axis]);
    const NodeCall call = attributesOf(*node);
    const bool single = w.scale.size() == 1;
    if (!single && (call.axisOf("axis", 1, q->extents.size()) != axis || w.scale.size() != channels))
      return std::nullopt;
    w.scale.resize(channels, w.scale[0]);
    std::vector<int64_t> zeros{0};
    if (node->inputs.size() > 2 && !node->inputs[2].empty()) {
      const Constant* given = facts_.constant(node->inputs[2]);
      if (!given) return std::nullopt;
      zeros = integersOf(*given);
    }
    if (zeros.size() != 1 && zeros.size() != channels) return std::nullopt;
    zeros.resize(channels, zeros[0]);
    const int64_t inner = elementCount({q->extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, q->extents.end()});
    const std::vector<int64_t> integers = integersOf(*q);
    for (size_t i = 0; i < integers.size(); ++i) {
      const int64_t moved = integers[i] - zeros[i / static_cast<size_t>(inner) % channels];
      if (moved < -128 || moved > 127) return std::nullopt;
      w.integers.push_back(static_cast<int8_t>(moved));
    }
    return w;
  }

  /// Constant numbers, in the file or dequantized.
  std::optional<std::vector<float>> constants(const std::string& name) const {
    if (const Constant* c = facts_.constant(name))
      return c->element == ElementType::kFloat ? std::optional(c->values<float>().data) : std::nullopt;
    const GraphNode* node = facts_.producer(name);
    if (!node || !node->standard || node->type != "DequantizeLinear") return std::nullopt;
    std::vector<const Constant*> operands;
    for (const std::string& input : node->inputs) {
      operands.push_back(input.empty() ? nullptr : facts_.constant(input));
      if (!input.empty() && !operands.back()) return std::nullopt;
    }
    return runKernel(*findKernel(node->type), {*node, facts_.graph().opset, operands})[0].values<float>().data;
  }

  /// A bias in the unit of the sums of products.
  std::optional<std::vector<float>> biasOf(const GraphNode& node, size_t i, const Numbers& x, const Weights& w) const {
    if (node.inputs.size() <= i || node.inputs[i].empty()) return std::vector<float>(w.scale.size(), 0.0F);
    auto bias = constants(node.inputs[i]);
    if (!bias || (bias->size() != 1 && bias->size() != w.scale.size())) return std::nullopt;
    bias->resize(w.scale.size(), (*bias)[0]);
    for (size_t f = 0; f < bias->size(); ++f)
      (*bias)[f] = static_cast<float>((*bias)[f] / (double{x.scale.scale} * w.scale[f]));
    return bias;
  }

  // --- The result: what stands between an operator and its QuantizeLinear. ---

  /// A QuantizeLinear, and the functions in front of it that only it reads.
  struct Result {
    ByteScale scale;
    Extents extents;
    std::vector<const GraphNode*> functions;  ///< the last one first
    std::string of;                           ///< what they are functions of
    std::vector<int> inner;
  };

  Result resultOf(const GraphNode& node, const ByteScale& scale, const Extents& extents) const {
    Result result{scale, extents, {}, node.inputs[0], {}};
    for (;;) {
      const GraphNode* f = facts_.producer(result.of);
      const bool isFunction =
          f && f->standard && !f->inputs.empty() &&
          std::find(std::begin(kFunctions), std::end(kFunctions), f->type) != std::end(kFunctions) &&
          std::all_of(f->inputs.begin() + 1, f->inputs.end(), [&](const std::string& name) {
            const Constant* c = facts_.constant(name);
            return name.empty() || (c && elementCount(c->extents) == 1);
          });
      if (!isFunction || !facts_.hasOneReader(result.of)) return result;
      result.functions.push_back(f);
      result.inner.push_back(facts_.producerIndex(result.of));
      result.of = f->inputs[0];
    }
  }

  /// The functions as one, by its values.
  ByteTable tableOf(const Result& result, const ByteScale& x) const {
    Made<float> all = make<float>(ElementType::kFloat, {256});
    for (int q = 0; q < 256; ++q)
      all.data[q] = static_cast<float>(q - x.zero) * x.scale;
    Constant values = all.constant;
    NodeRunner runner(referenceEngine());
    for (auto f = result.functions.rbegin(); f != result.functions.rend(); ++f) {
      auto lookup = [&, &first = (*f)->inputs[0]](const std::string& name) -> Found {
        return name == first ? Found{&values, false} : Found{facts_.constant(name), true};
      };
      values = runner.run(**f, facts_.graph().opset, lookup)[0];
    }
    ByteTable table;
    quantizeBytes(dataOf<float>(values).data(), table.data(), 256, result.scale.scale,
                  static_cast<float>(result.scale.zero));
    return table;
  }

  /// The functions as a range of the bytes: rounding to them does not change which of two numbers is the larger.
  std::optional<Range> rangeOf(const Result& result) const {
    Range range;
    for (auto f = result.functions.rbegin(); f != result.functions.rend(); ++f) {
      Range own;
      if ((*f)->type == "Relu") {
        own.least = quantized(0, result.scale);
      } else if ((*f)->type == "Clip") {
        if (auto low = boundOf(**f, 1, "min")) own.least = quantized(*low, result.scale);
        if (auto high = boundOf(**f, 2, "max")) own.most = quantized(*high, result.scale);
      } else {
        return std::nullopt;
      }
      range.least = std::min(std::max(range.least, own.least), own.most);
      range.most = std::min(std::max(range.most, own.least), own.most);
    }
    return range;
  }
  std::optional<float> boundOf(const GraphNode& clip, size_t operand, std::string_view attribute) const {
    if (facts_.graph().opset < 11) {
      const double none = std::nan("");
      const double bound = attributesOf(clip).number(attribute, none);
      return std::isnan(bound) ? std::nullopt : std::optional(static_cast<float>(bound));
    }
    if (clip.inputs.size() <= operand || clip.inputs[operand].empty()) return std::nullopt;
    return facts_.constant(clip.inputs[operand])->values<float>().data[0];
  }

  // --- Nodes. ---

  std::optional<ByteNode> dequantize(const GraphNode& node) const {
    const auto x = numbersOf(&node);
    if (!x || facts_.element(node.outputs[0]) != ElementType::kFloat) return std::nullopt;
    return ByteNode{{}, {x->bytes}, "", node.type, "bytes: to numbers", dequantizeKernel(x->extents, x->scale)};
  }

  std::optional<ByteNode> quantize(const GraphNode& node) {
    const auto scale = scaleOf(node, facts_.element(node.outputs[0]));
    const auto extents = facts_.extents(node.outputs[0]);
    const bool isFloat = facts_.element(node.inputs[0]) == ElementType::kFloat;
    const bool isValue = isFloat && !facts_.constant(node.inputs[0]) && facts_.extents(node.inputs[0]) == extents;
    if (!scale || !extents || elementCount(*extents) == 0 || !isValue) return std::nullopt;
    const Result result = resultOf(node, *scale, *extents);
    if (auto made = withOperator(result)) {
      made->inner.insert(made->inner.end(), result.inner.begin(), result.inner.end());
      return made;
    }
    return ByteNode{{}, {}, node.inputs[0], node.type, "bytes: of numbers", quantizeKernel(*extents, *scale)};
  }

  std::optional<ByteNode> withOperator(const Result& result) {
    const GraphNode* node = facts_.producer(result.of);
    if (!node || !node->standard) return std::nullopt;
    if (const auto x = numbersOf(node)) return function(result, *x);
    using Method = std::optional<ByteNode> (Recogniser::*)(const GraphNode&, const Result&, const Range&);
    static const std::map<std::string_view, Method> kMethods{
        {"Conv", &Recogniser::convolution}, {"Gemm", &Recogniser::gemm},       {"MatMul", &Recogniser::matMul},
        {"Add", &Recogniser::sum},          {"MaxPool", &Recogniser::maxPool}, {"GlobalAveragePool", &Recogniser::mean},
        {"ReduceMean", &Recogniser::mean},  {"Reshape", &Recogniser::move},    {"Flatten", &Recogniser::move},
        {"Squeeze", &Recogniser::move},     {"Unsqueeze", &Recogniser::move},
    };
    auto method = kMethods.find(node->type);
    const auto range = rangeOf(result);
    const bool alone = node->outputs.size() == 1 && facts_.hasOneReader(result.of);
    if (method == kMethods.end() || !range || !alone) return std::nullopt;
    auto made = (this->*method->second)(*node, result, *range);
    if (!made) return std::nullopt;
    made->op = node->type;
    made->inner.push_back(facts_.producerIndex(result.of));
    return made;
  }

  std::optional<ByteNode> function(const Result& result, const Numbers& x) const {
    const int64_t count = elementCount(x.extents);
    ByteNode node{
        {}, {x.bytes}, "", result.functions.empty() ? "QuantizeLinear" : result.functions[0]->type, "bytes: a table",
        {}};
    node.kernel = [table = tableOf(result, x.scale), count](const uint8_t* const* from, uint8_t* to) {
      lookUp(table, from[0], to, count);
    };
    return node;
  }

  std::optional<ByteNode> prepared(const ByteConvolution& convolution, const Numbers& x) {
    auto made = engine_(convolution);
    if (!made) return std::nullopt;
    ByteNode node{{}, {x.bytes}, "", "", "bytes: " + made->how(), {}, true};
    node.kernel = preparedKernel(std::move(made));
    return node;
  }

  std::optional<ByteNode> convolution(const GraphNode& node, const Result& result, const Range& range) {
    const auto x = numbers(node.inputs[0]);
    const auto w = weights(node.inputs[1], 0);
    const NodeCall call = attributesOf(node);
    if (!x || !w || x->extents.size() < 4 || call.text("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
    auto bias = biasOf(node, 2, *x, *w);
    if (!bias) return std::nullopt;
    const size_t spatial = x->extents.size() - 2;
    const Extents ones(spatial, 1), pads = call.integers("pads").value_or(Extents(2 * spatial, 0));
    const Extents strides = call.integers("strides").value_or(ones),
                  dilations = call.integers("dilations").value_or(ones);
    const int64_t group = call.integer("group", 1);
    const bool fits = w->extents.size() == spatial + 2 && result.extents.size() == spatial + 2 &&
                      strides.size() == spatial && dilations.size() == spatial && pads.size() == 2 * spatial &&
                      group > 0 && w->extents[1] * group == x->extents[1] && w->extents[0] == result.extents[1];
    if (!fits) return std::nullopt;
    ByteConvolution c{.x = x->extents,
                      .y = result.extents,
                      .kernel = {w->extents.begin() + 2, w->extents.end()},
                      .strides = strides,
                      .dilations = dilations,
                      .before = {pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial)},
                      .after = {pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end()},
                      .group = group,
                      .weights = w->integers,
                      .bias = std::move(*bias),
                      .scale = {},
                      .zeroX = x->scale.zero,
                      .zeroY = result.scale.zero,
                      .least = range.least,
                      .most = range.most};
    for (float s : w->scale)
      c.scale.push_back(static_cast<float>(double{x->scale.scale} * s / result.scale.scale));
    return prepared(c, *x);
  }

  /// Rows of x by columns of w, which is [depth, columns] unless it is `isTransposed`.
  std::optional<ByteNode> product(const Numbers& x,
                                  Weights w,
                                  bool isTransposed,
                                  std::vector<float> bias,
                                  const Result& result,
                                  const Range& range) {
    const int64_t depth = w.extents[isTransposed ? 1 : 0], columns = w.extents[isTransposed ? 0 : 1];
    if (x.extents.size() > 3 || x.extents.empty() || x.extents.back() != depth) return std::nullopt;
    const int64_t rows = elementCount(x.extents) / depth;
    const Extents ones{1, 1}, zeros{0, 0};
    ByteConvolution c{.x = {1, depth, rows, 1},
                      .y = {1, columns, rows, 1},
                      .kernel = ones,
                      .strides = ones,
                      .dilations = ones,
                      .before = zeros,
                      .after = zeros,
                      .group = 1,
                      .weights = isTransposed ? std::move(w.integers) : transposed(w.integers, depth, columns),
                      .bias = std::move(bias),
                      .scale = {},
                      .zeroX = x.scale.zero,
                      .zeroY = result.scale.zero,
                      .least = range.least,
                      .most = range.most};
    for (float s : w.scale)
      c.scale.push_back(static_cast<float>(double{x.scale.scale} * s / result.scale.scale));
    return prepared(c, x);
  }

  std::optional<ByteNode> gemm(const GraphNode& node, const Result& result, const Range& range) {
    const NodeCall call = attributesOf(node);
    const bool isTransposed = call.integer("transB", 0) != 0;
    const bool plain = call.number("alpha", 1) == 1 && call.number("beta", 1) == 1 && call.integer("transA", 0) == 0;
    const auto x = numbers(node.inputs[0]);
    auto w = weights(node.inputs[1], isTransposed ? 0 : 1);
    if (!plain || !x || !w || w->extents.size() != 2) return std::nullopt;
    auto bias = biasOf(node, 2, *x, *w);
    // Of as many numbers, but of rows
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const auto extents = facts_.extents(node.inputs[2]);
      if (!extents || (extents->size() == 2 && extents->at(0) != 1)) return std::nullopt;
    }
    return bias ? product(*x, std::move(*w), isTransposed, std::move(*bias), result, range) : std::nullopt;
  }

  std::optional<ByteNode> matMul(const GraphNode& node, const Result& result, const Range& range) {
    const auto x = numbers(node.inputs[0]);
    auto w = weights(node.inputs[1], 1);
    if (!x || !w || w->extents.size() != 2) return std::nullopt;
    std::vector<float> none(w->scale.size(), 0.0F);
    return product(*x, std::move(*w), false, std::move(none), result, range);
  }

  std::optional<ByteNode> sum(const GraphNode& node, const Result& result, const Range& range) {
    const auto a = numbers(node.inputs[0]), b = numbers(node.inputs[1]);
    if (!a || !b || a->extents != b->extents) return std::nullopt;
    const ByteSum sum{a->scale, b->scale, result.scale, range.least, range.most};
    ByteNode made{{}, {a->bytes, b->bytes}, "", "", "bytes: a sum", {}};
    made.kernel = [sum, count = elementCount(a->extents)](const uint8_t* const* from, uint8_t* to) {
      sum.run(from[0], from[1], to, count);
    };
    return made;
  }

  std::optional<ByteNode> maxPool(const GraphNode& node, const Result& result, const Range& range) {
    const auto x = numbers(node.inputs[0]);
    const NodeCall call = attributesOf(node);
    if (!x || x->extents.size() != 4 || call.text("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
    const Extents ones{1, 1}, pads = call.integers("pads").value_or(Extents{0, 0, 0, 0});
    const Extents kernel = call.integers("kernel_shape").value_or(ones),
                  strides = call.integers("strides").value_or(ones),
                  dilations = call.integers("dilations").value_or(ones);
    const bool fits = result.extents.size() == 4 && kernel.size() == 2 && strides.size() == 2 &&
                      dilations.size() == 2 && pads.size() == 4;
    if (!fits) return std::nullopt;
    const BytePool pool{x->extents, result.extents, kernel, strides, dilations, {pads[0], pads[1]}};
    ByteNode made{{}, {x->bytes}, "", "", "bytes: a pool", {}};
    made.kernel = rescaled([pool](const uint8_t* const* from, uint8_t* to) { pool.run(from[0], to); },
                           elementCount(result.extents), x->scale, result.scale, range);
    return made;
  }

  /// Over all spatial dimensions.
  std::optional<ByteNode> mean(const GraphNode& node, const Result& result, const Range& range) {
    const auto x = numbers(node.inputs[0]);
    if (!x || x->extents.size() < 4) return std::nullopt;
    const ByteMean mean{x->extents[0], positionsOf(x->extents), x->extents[1], x->scale, result.scale, range.least,
                        range.most};
    if (node.type == "ReduceMean" && !isOverPositions(node, x->extents.size())) return std::nullopt;
    ByteNode made{{}, {x->bytes}, "", "", "bytes: a mean", {}};
    made.kernel = [mean](const uint8_t* const* from, uint8_t* to) { mean.run(from[0], to); };
    return made;
  }

  bool isOverPositions(const GraphNode& reduce, size_t rank) const {
    const Constant* operand = reduce.inputs.size() > 1 ? facts_.constant(reduce.inputs[1]) : nullptr;
    const NodeCall call(reduce, facts_.graph().opset, {nullptr, operand});
    constexpr int64_t kAxesAreAnOperand = 18;
    std::set<size_t> axes, positions;
    for (int64_t axis : call.given("axes", 1, kAxesAreAnOperand).value_or(Extents()))
      axes.insert(call.axis(axis, rank));
    for (size_t d = 2; d < rank; ++d)
      positions.insert(d);
    return axes == positions;
  }

  /// Keeps the order of the elements.
  std::optional<ByteNode> move(const GraphNode& node, const Result& result, const Range& range) {
    const auto x = numbers(node.inputs[0]);
    if (!x || elementCount(x->extents) != elementCount(result.extents)) return std::nullopt;
    ByteNode made{{}, {x->bytes}, "", "", "bytes: moved", {}};
    ByteKernel kernel = [from = x->extents, to = result.extents,
                         between = std::vector<uint8_t>(static_cast<size_t>(elementCount(result.extents)))](
                            const uint8_t* const* given, uint8_t* taken) mutable {
      fromChannelsLast(given[0], from, between.data());
      toChannelsLast(between.data(), to, taken);
    };
    made.kernel = rescaled(std::move(kernel), elementCount(result.extents), x->scale, result.scale, range);
    return made;
  }

  const GraphFacts& facts_;
  const ByteEngine& engine_;
};

/// [channels, positions] of each image by rows or by columns.
void transposeImages(const uint8_t* x, const Extents& extents, bool toLast, uint8_t* y) {
  const int64_t count = elementCount(extents);
  const int64_t channels = extents.size() < 4 ? 1 : extents[1];
  const int64_t positions = extents.size() < 4 ? count : positionsOf(extents);
  for (int64_t at = 0; at < count; at += channels * positions)
    transposeBytes(x + at, y + at, toLast ? channels : positions, toLast ? positions : channels);
}

}  // namespace

void toChannelsLast(const uint8_t* x, const Extents& extents, uint8_t* y) {
  transposeImages(x, extents, true, y);
}
void fromChannelsLast(const uint8_t* x, const Extents& extents, uint8_t* y) {
  transposeImages(x, extents, false, y);
}

int32_t signShift(ElementType element) {
  return element == ElementType::kInt8 ? 128 : 0;
}

std::map<int, ByteNode> byteNodes(const GraphFacts& facts, const ByteEngine& engine) {
  Recogniser recogniser(facts, engine);
  std::map<int, ByteNode> nodes;
  for (size_t i = 0; i < facts.graph().nodes.size(); ++i) {
    if (auto made = recogniser.run(facts.graph().nodes[i])) nodes.emplace(static_cast<int>(i), std::move(*made));
  }
  return nodes;
}

}  // namespace pet::session
