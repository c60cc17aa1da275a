#include "applier/onnx/graph.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "ir/half.h"

namespace pet {
namespace {

static_assert(std::endian::native == std::endian::little, "Constant holds little-endian bytes");

template <class T>
Constant constantOf(ElementType element, const Tensor<T>& tensor) {
  const auto* begin = reinterpret_cast<const char*>(tensor.data.data());
  return {element, tensor.extents, std::string(begin, begin + tensor.data.size() * sizeof(T))};
}

/// Numbers in bytes that lie anywhere: a vector of them is written once, not cleared first.
template <class T>
class Unaligned {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = T;

  explicit Unaligned(const char* at) : at_(at) {}
  T operator*() const {
    T value;
    std::memcpy(&value, at_, sizeof(T));
    return value;
  }
  Unaligned& operator++() {
    at_ += sizeof(T);
    return *this;
  }
  difference_type operator-(const Unaligned& other) const { return (at_ - other.at_) / difference_type{sizeof(T)}; }
  bool operator==(const Unaligned&) const = default;

 private:
  const char* at_;
};

template <class To, class From, class Read = std::identity>
std::vector<To> converted(std::string_view bytes, Read read = {}) {
  if constexpr (std::is_same_v<To, From>) {
    return {Unaligned<To>(bytes.data()), Unaligned<To>(bytes.data() + bytes.size() / sizeof(To) * sizeof(To))};
  }
  std::vector<To> out(bytes.size() / sizeof(From));
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(read(value));
  }
  return out;
}

/// Integers or truth values, modulo 2^64.
std::vector<int64_t> wholeNumbers(ElementType element, std::string_view bytes) {
  switch (element) {
    case ElementType::kInt8:
      return converted<int64_t, int8_t>(bytes);
    case ElementType::kUint8:
    case ElementType::kBool:
      return converted<int64_t, uint8_t>(bytes);
    case ElementType::kInt16:
      return converted<int64_t, int16_t>(bytes);
    case ElementType::kUint16:
      return converted<int64_t, uint16_t>(bytes);
    case ElementType::kInt32:
      return converted<int64_t, int32_t>(bytes);
    case ElementType::kUint32:
      return converted<int64_t, uint32_t>(bytes);
    default:
      assert(element == ElementType::kInt64 || element == ElementType::kUint64);
      return converted<int64_t, int64_t>(bytes);
  }
}

template <class T>
Tensor<T> narrowed(const Tensor<int64_t>& tensor) {
  Tensor<T> narrow(tensor.extents);
  std::transform(tensor.data.begin(), tensor.data.end(), narrow.data.begin(),
                 [](int64_t x) { return static_cast<T>(x); });
  return narrow;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

size_t elementSize(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return 1;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kDouble:
    case ElementType::kUint64:
      return 8;
    default:
      return 0;
  }
}

std::string_view str(ElementType type) {
  constexpr std::string_view kNames[] = {"unknown", "float",  "uint8", "int8",    "uint16", "int16",  "int32",
                                         "int64",   "string", "bool",  "float16", "double", "uint32", "uint64"};
  auto i = static_cast<size_t>(type);
  if (type == ElementType::kBfloat16) return "bfloat16";
  return i < std::size(kNames) ? kNames[i] : "an element type without a name here";
}

bool hasNumber(ElementType type, double number) {
  constexpr double kLargest = 0x1p31 - 1;
  if (std::trunc(number) != number || std::abs(number) > kLargest) return false;
  const bool isSigned = type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32 ||
                        type == ElementType::kInt64;
  const auto bits = type == ElementType::kBool ? 1 : 8 * static_cast<int>(elementSize(type)) - (isSigned ? 1 : 0);
  return number < std::ldexp(1.0, bits) && number >= (isSigned ? -std::ldexp(1.0, bits) : 0.0);
}

double unitRoundoff(ElementType type) {
  switch (type) {
    case ElementType::kDouble:
      return 0x1p-53;
    case ElementType::kFloat16:
      return kHalfUnit;
    case ElementType::kBfloat16:
      return kBfloat16Unit;
    default:
      assert(type == ElementType::kFloat);
      return 0x1p-24;
  }
}

double roundedTo(ElementType type, double x) {
  if (type == ElementType::kDouble) return x;
  const auto narrow = static_cast<float>(x);
  if (type == ElementType::kFloat16) return fromHalf(toHalf(narrow));
  return type == ElementType::kBfloat16 ? fromBfloat16(toBfloat16(narrow)) : narrow;
}

Constant Constant::of(const Tensor<float>& tensor) {
  return constantOf(ElementType::kFloat, tensor);
}
Constant Constant::of(const Tensor<double>& tensor) {
  return constantOf(ElementType::kDouble, tensor);
}
Constant Constant::of(const Tensor<int64_t>& tensor) {
  return constantOf(ElementType::kInt64, tensor);
}

template <class T>
Constant Constant::rounded(ElementType element, const Tensor<T>& tensor) {
  if (!isComputed(element)) {
    assert(std::all_of(tensor.data.begin(), tensor.data.end(), [&](T x) { return hasNumber(element, x); }));
    return whole(element, Tensor<int64_t>(tensor.extents, {tensor.data.begin(), tensor.data.end()}));
  }
  if (element == ElementType::kDouble) return constantOf(element, Tensor<double>(tensor.extents, widened(tensor.data)));
  if constexpr (std::is_same_v<T, float>) {
    if (element == ElementType::kFloat) return constantOf(element, tensor);
  }
  Tensor<float> narrow(tensor.extents, {tensor.data.begin(), tensor.data.end()});
  if (element == ElementType::kFloat) return constantOf(element, narrow);
  assert(element == ElementType::kFloat16 || element == ElementType::kBfloat16);
  Tensor<uint16_t> bits(tensor.extents);
  std::transform(narrow.data.begin(), narrow.data.end(), bits.data.begin(),
                 element == ElementType::kFloat16 ? toHalf : toBfloat16);
  return constantOf(element, bits);
}
template Constant Constant::rounded(ElementType, const Tensor<float>&);
template Constant Constant::rounded(ElementType, const Tensor<double>&);

Constant Constant::whole(ElementType element, const Tensor<int64_t>& tensor) {
  assert(!isComputed(element) && isMoved(element));
  switch (elementSize(element)) {
    case 1:
      return constantOf(element, narrowed<uint8_t>(tensor));
    case 2:
      return constantOf(element, narrowed<uint16_t>(tensor));
    case 4:
      return constantOf(element, narrowed<uint32_t>(tensor));
    default:
      return constantOf(element, tensor);
  }
}

template <class T>
Tensor<T> Constant::values() const {
  assert(bytes);
  if constexpr (std::is_same_v<T, int64_t>) {
    return {extents, wholeNumbers(element, *bytes)};
  } else {
    if (!isComputed(element)) {
      const std::vector<int64_t> whole = wholeNumbers(element, *bytes);
      return {extents, {whole.begin(), whole.end()}};
    }
    switch (element) {
      case ElementType::kDouble:
        return {extents, converted<T, double>(*bytes)};
      case ElementType::kFloat16:
        return {extents, converted<T, uint16_t>(*bytes, fromHalf)};
      case ElementType::kBfloat16:
        return {extents, converted<T, uint16_t>(*bytes, fromBfloat16)};
      default:
        return {extents, converted<T, float>(*bytes)};
    }
  }
}
template Tensor<float> Constant::values() const;
template Tensor<double> Constant::values() const;
template Tensor<int64_t> Constant::values() const;

std::optional<std::vector<int64_t>> Constant::integers() const {
  if (!bytes || isComputed(element) || !isMoved(element)) return std::nullopt;
  std::vector<int64_t> numbers = wholeNumbers(element, *bytes);
  const bool fit =
      element != ElementType::kUint64 || std::all_of(numbers.begin(), numbers.end(), [](int64_t x) { return x >= 0; });
  return fit ? std::optional(std::move(numbers)) : std::nullopt;
}

std::optional<std::vector<double>> Constant::numbers() const {
  return bytes && isComputed(element) ? std::optional(values<double>().data) : std::nullopt;
}

std::optional<Extents> ValueType::extents() const {
  if (!dims) return std::nullopt;
  Extents result;
  for (const auto& d : *dims) {
    if (!d) return std::nullopt;
    result.push_back(*d);
  }
  return result;
}

std::string functionKey(const std::string& domain, const std::string& name, const std::string& overload) {
  return domain + ":" + name + (overload.empty() ? "" : ":" + overload);
}

std::string nameOf(const GraphNode& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

std::string describe(const GraphNode& node) {
  return fmt::format("node '{}' ({})", nameOf(node), node.type);
}

bool isQuantized(const GraphNode& node) {
  return node.type.find("QuantizeLinear") != std::string::npos || node.type == "DequantizeLinear" ||
         node.type.starts_with("QLinear") || node.type == "QGemm" || node.type.ends_with("Integer");
}

std::vector<std::string> readsOf(const GraphNode& node) {
  std::vector<std::string> names;
  for (const std::string& name : node.inputs) {
    if (!name.empty()) names.push_back(name);
  }
  names.insert(names.end(), node.captured.begin(), node.captured.end());
  return names;
}

std::map<std::string, size_t, std::less<>> readersIn(const Graph& graph) {
  std::map<std::string, size_t, std::less<>> readers;
  for (const GraphNode& n : graph.nodes) {
    for (const std::string& name : readsOf(n))
      ++readers[name];
  }
  for (const std::string& name : graph.outputs)
    ++readers[name];
  return readers;
}

bool sameConstant(const Constant& a, const Constant& b) {
  return a.element == b.element && a.extents == b.extents && a.bytes == b.bytes;
}

namespace {

bool sameNode(const GraphNode& a, const GraphNode& b) {
  return a.type == b.type && a.domain == b.domain && a.inputs == b.inputs && a.outputs == b.outputs &&
         sameAttributeValues(a.attributes, b.attributes);
}

bool sameGraph(const Graph& a, const Graph& b) {
  auto same = [](const Initializer& i, const Initializer& j) {
    return i.name == j.name && sameConstant(i.value, j.value);
  };
  return a.inputs == b.inputs && a.outputs == b.outputs &&
         std::equal(a.initializers.begin(), a.initializers.end(), b.initializers.begin(), b.initializers.end(), same) &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), sameNode);
}

bool sameAttribute(const GraphAttribute& a, const GraphAttribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* c = std::get_if<Constant>(&a)) return sameConstant(*c, std::get<Constant>(b));
  if (const auto* g = std::get_if<Subgraph>(&a))
    return *g == std::get<Subgraph>(b) || sameGraph(**g, *std::get<Subgraph>(b));
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Constant>)
          return false;
        else
          return x == std::get<T>(b);
      },
      a);
}

}  // namespace

bool sameAttributeValues(const std::map<std::string, GraphAttribute, std::less<>>& a,
                         const std::map<std::string, GraphAttribute, std::less<>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && sameAttribute(x.second, y.second);
  });
}

std::vector<std::string> capturedBy(const Graph& graph) {
  std::set<std::string> read(graph.outputs.begin(), graph.outputs.end());
  std::set<std::string, std::less<>> defined(graph.sparse);
  for (const GraphNode& n : graph.nodes) {
    auto names = readsOf(n);
    read.insert(names.begin(), names.end());
    defined.insert(n.outputs.begin(), n.outputs.end());
  }
  for (const Initializer& i : graph.initializers) {
    if (!i.outer) defined.insert(i.name);
  }
  defined.insert(graph.inputs.begin(), graph.inputs.end());
  std::vector<std::string> captured;
  std::copy_if(read.begin(), read.end(), std::back_inserter(captured),
               [&](const std::string& name) { return !name.empty() && !defined.contains(name); });
  return captured;
}

}  // namespace pet
