// Operators that make tensors from sizes, and what asks for sizes; signals and texts.

#include <algorithm>
#include <climits>
#include <cmath>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

ElementType elementOf(NodeInference& n, std::string_view name, ElementType fallback) {
  return static_cast<ElementType>(n.integer(name, static_cast<int64_t>(fallback)));
}

Shape shapeOfList(NodeInference& n, const std::vector<std::optional<Dim>>& list) {
  Shape shape;
  for (const auto& d : list) {
    auto k = d ? d->asConstant() : std::nullopt;
    if (k && *k < 0) NodeInference::invalid(fmt::format("an extent of {}", *k));
    shape.push_back(d && n.sizes().least(*d) >= 0 ? *d : n.open());
  }
  return shape;
}

// The forms of a constant have an attribute each.
void inferConstant(NodeInference& n) {
  const auto length = [](const auto& list) { return Shape{Dim(static_cast<int64_t>(list.size()))}; };
  for (const auto& [name, value] : n.node().attributes) {
    if (const auto* c = std::get_if<Constant>(&value); c && name == "value") {
      n.setElement(0, c->element);
      n.setShape(0, Shape(c->extents.begin(), c->extents.end()));
    } else if (const auto* sparse = std::get_if<SparseConstant>(&value)) {
      n.setElement(0, sparse->element);
      n.setShape(0, Shape(sparse->extents.begin(), sparse->extents.end()));
    } else if (name == "value_int" || name == "value_ints") {
      n.setElement(0, ElementType::kInt64);
      const auto* list = std::get_if<std::vector<int64_t>>(&value);
      n.setShape(0, list ? length(*list) : Shape{});
    } else if (name == "value_float" || name == "value_floats") {
      n.setElement(0, ElementType::kFloat);
      const auto* list = std::get_if<std::vector<float>>(&value);
      n.setShape(0, list ? length(*list) : Shape{});
    } else if (name == "value_string" || name == "value_strings") {
      n.setElement(0, ElementType::kString);
      const auto* list = std::get_if<std::vector<std::string>>(&value);
      n.setShape(0, list ? length(*list) : Shape{});
    }
  }
}

void inferConstantOfShape(NodeInference& n) {
  const GraphAttribute* value = n.attribute("value");
  const auto* c = value ? std::get_if<Constant>(value) : nullptr;
  if (value && !c) NodeInference::nothing();
  n.setElement(0, c ? c->element : ElementType::kFloat);
  auto list = n.list(0);
  if (!list) NodeInference::nothing();
  n.setShape(0, shapeOfList(n, *list));
}

void inferShape(NodeInference& n) {
  const auto rank = static_cast<int64_t>(n.rank(0));
  auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  n.setShape(0, {Dim(std::max<int64_t>(end - start, 0))});
}

void inferScalar(NodeInference& n) {
  n.setShape(0, {});
}

void inferEyeLike(NodeInference& n) {
  n.setElement(0, elementOf(n, "dtype", n.operand(0).element));
  n.setShape(0, n.shapeOfRank(0, 2));
}

void inferRandomLike(NodeInference& n) {
  n.setElement(0, elementOf(n, "dtype", n.operand(0).element));
  inferLikeFirst(n);
}

void inferRandom(NodeInference& n) {
  n.setElement(0, elementOf(n, "dtype", ElementType::kFloat));
  std::vector<std::optional<Dim>> list;
  for (int64_t k : n.integers("shape").value_or(std::vector<int64_t>()))
    list.emplace_back(Dim(k));
  n.setShape(0, shapeOfList(n, list));
}

void inferMultinomial(NodeInference& n) {
  n.setElement(0, elementOf(n, "dtype", ElementType::kInt32));
  Dim batch = n.hasShape(0) ? n.shapeOfRank(0, 2)[0] : n.open();
  n.setShape(0, {batch, Dim(n.integer("sample_size", 1))});
}

/// ceil((limit - start)/delta) of numbers in floating point.
Dim countOf(NodeInference& n, double start, double limit, double delta) {
  if (delta == 0) NodeInference::invalid("a step of 0");
  double count = std::ceil((limit - start) / delta);
  return count >= 0x1p53 || std::isnan(count) ? n.open() : Dim(static_cast<int64_t>(std::max(count, 0.0)));
}

void inferRange(NodeInference& n) {
  auto start = n.scalar(0), limit = n.scalar(1);
  auto delta = n.constant(2);
  if (start && limit && delta) {
    if (*delta == 0) NodeInference::invalid("a step of 0");
    if (*delta == INT64_MIN) NodeInference::nothing();
    Sizes& s = n.sizes();
    Dim length = *delta > 0 ? s.subtract(*limit, *start) : s.subtract(*start, *limit);
    return n.setShape(0, {s.ceilDivide(s.maximum(length, Dim(0)), *delta > 0 ? *delta : -*delta)});
  }
  auto a = n.numbers(0), b = n.numbers(1), d = n.numbers(2);
  bool known = a && b && d && a->size() == 1 && b->size() == 1 && d->size() == 1;
  n.setShape(0, {known ? countOf(n, a->front(), b->front(), d->front()) : n.open()});
}

/// A vector as long as operand 0 says: the windows of signal processing.
void inferWindowFunction(NodeInference& n) {
  n.setElement(0, elementOf(n, "output_datatype", ElementType::kFloat));
  auto size = n.scalar(0);
  n.setShape(0, {size && n.sizes().least(*size) >= 0 ? *size : n.open()});
}

void inferMelWeights(NodeInference& n) {
  n.setElement(0, elementOf(n, "output_datatype", ElementType::kFloat));
  auto bins = n.scalar(0), length = n.scalar(1);
  n.setShape(
      0, {length && n.sizes().least(*length) >= 0 ? n.sizes().add(n.sizes().floorDivide(*length, 2), Dim(1)) : n.open(),
          bins && n.sizes().least(*bins) >= 0 ? *bins : n.open()});
}

/// The axis of a DFT: an attribute before opset 20, then operand 2.
std::optional<int64_t> transformAxis(NodeInference& n) {
  if (n.opset() < 20) return n.integer("axis", 1);
  return n.has(2) ? n.constant(2) : std::optional<int64_t>(-2);
}

// x[…, t, …, re/im]: along the axis the length that is asked for, half of it with onesided (real x), and the whole of
// a half spectrum backwards.
void inferDft(NodeInference& n) {
  Shape y = n.shape(0);
  if (y.size() < 2) NodeInference::invalid(fmt::format("a tensor of {} dimensions", y.size()));
  auto axis = transformAxis(n);
  const bool half = n.flag("onesided", false), back = n.flag("inverse", false);
  y.back() = half && back ? 1 : 2;
  if (!n.has(1) && !half) return n.setShape(0, std::move(y));
  if (!axis) {
    Shape open = n.open(y.size());
    open.back() = y.back();
    return n.setShape(0, std::move(open));
  }
  Sizes& s = n.sizes();
  Dim& d = y[n.axis(*axis, y.size())];
  if (n.has(1)) {
    auto length = n.scalar(1);
    d = length && s.least(*length) >= 0 ? *length : n.open();
  } else if (half && back) {
    d = s.multiply(s.subtract(d, Dim(1)), Dim(2));
  }
  if (half && !back) d = s.add(s.floorDivide(d, 2), Dim(1));
  n.setShape(0, std::move(y));
}

// x[batch, t, re/im] -> y[batch, frames, bins, 2]
void inferStft(NodeInference& n) {
  const Shape& x = n.shape(0);
  auto step = n.constant(1);
  if (step && *step < 1) NodeInference::invalid(fmt::format("a step of {}", *step));
  std::optional<Dim> length = n.has(3) ? n.scalar(3) : std::nullopt;
  if (!n.has(3) && n.hasShape(2)) length = n.shapeOfRank(2, 1)[0];
  if (!n.has(3) && !n.has(2) && x.size() >= 2) length = x[1];
  if (x.size() < 2) NodeInference::invalid(fmt::format("a tensor of {} dimensions", x.size()));
  Sizes& s = n.sizes();
  Dim frames = step && length ? s.add(s.floorDivide(s.subtract(x[1], *length), *step), Dim(1)) : n.open();
  Dim bins = !length ? n.open() : n.flag("onesided", true) ? s.add(s.floorDivide(*length, 2), Dim(1)) : *length;
  n.setShape(0, {x[0], frames, bins, Dim(2)});
}

void inferImageDecoder(NodeInference& n) {
  std::string format = n.text("pixel_format", "RGB");
  n.setShape(0, {n.open(), n.open(), format == "Grayscale" ? Dim(1) : Dim(3)});
}

// Stop words may remove entries of the last dimension.
void inferStringNormalizer(NodeInference& n) {
  Shape y = n.shape(0);
  if (y.empty() || y.size() > 2) NodeInference::invalid(fmt::format("a tensor of {} dimensions", y.size()));
  if (n.hasAttribute("stopwords")) y.back() = n.open();
  n.setShape(0, std::move(y));
}

// One more dimension, as long as the longest list of parts.
void inferStringSplit(NodeInference& n) {
  Shape y = n.shape(0);
  n.setShape(1, y);
  y.push_back(n.open());
  n.setShape(0, std::move(y));
}

// One column for each n-gram.
void inferTfIdf(NodeInference& n) {
  auto indices = n.integers("ngram_indexes");
  if (!indices || indices->empty()) NodeInference::nothing();
  int64_t columns = checkedAdd(*std::max_element(indices->begin(), indices->end()), 1);
  const Shape& x = n.shape(0);
  if (x.size() > 2) NodeInference::invalid(fmt::format("a tensor of {} dimensions", x.size()));
  n.setShape(0, x.size() == 2 ? Shape{x[0], Dim(columns)} : Shape{Dim(columns)});
}

constexpr InferRule kGeneratorRules[] = {
    {"Bernoulli", inferRandomLike},
    {"BlackmanWindow", inferWindowFunction},
    {"Constant", inferConstant},
    {"ConstantOfShape", inferConstantOfShape},
    {"DFT", inferDft},
    {"EyeLike", inferEyeLike},
    {"HammingWindow", inferWindowFunction},
    {"HannWindow", inferWindowFunction},
    {"ImageDecoder", inferImageDecoder},
    {"MelWeightMatrix", inferMelWeights},
    {"Multinomial", inferMultinomial},
    {"RandomNormal", inferRandom},
    {"RandomNormalLike", inferRandomLike},
    {"RandomUniform", inferRandom},
    {"RandomUniformLike", inferRandomLike},
    {"Range", inferRange},
    {"STFT", inferStft},
    {"Shape", inferShape},
    {"Size", inferScalar},
    {"StringNormalizer", inferStringNormalizer},
    {"StringSplit", inferStringSplit},
    {"TfIdfVectorizer", inferTfIdf},
};

}  // namespace

std::span<const InferRule> generatorRules() {
  return kGeneratorRules;
}

}  // namespace pet
