#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace pet {

enum class AttributeKind { kScalar, kList, kNumber, kText, kLayout, kIndexMap };

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  /// The default's text form ("1", "[1, 1]"), or empty when the attribute must be given.
  std::string_view fallback;
};

/// So many equal integers for each spatial dimension of the first operand; none for 0 times.
struct PerDimension {
  int64_t value = 0;
  int times = 1;
};

/// An attribute of an ONNX operator that is one of ours, too, by the same name.
struct OnnxAttribute {
  std::string_view name;
  AttributeKind kind;  ///< kScalar: ONNX's INT, kList: INTS, kNumber: FLOAT, kText: STRING
  /// What it is where a node leaves it out; monostate: it must be given.
  std::variant<std::monostate, int64_t, double, std::string_view, PerDimension> fallback = {};
  bool isAxis = false;         ///< a dimension of the first operand, counted from its end below 0
  bool isSparse = false;       ///< not written where it has its default
  int64_t firstOpset = 1;      ///< that has it; before, only the default can be written
  std::string_view form = {};  ///< what an opset before that lacks, for messages
  int operand = -1;            ///< the position at which it is an operand ...
  int64_t operandOpset = 1;    ///< ... from this opset on; left out where it has its default

  static constexpr OnnxAttribute integer(std::string_view name, int64_t fallback) {
    return {.name = name, .kind = AttributeKind::kScalar, .fallback = fallback};
  }
  static constexpr OnnxAttribute axis(std::string_view name, int64_t fallback) {
    return {.name = name, .kind = AttributeKind::kScalar, .fallback = fallback, .isAxis = true};
  }
  static constexpr OnnxAttribute number(std::string_view name, double fallback) {
    return {.name = name, .kind = AttributeKind::kNumber, .fallback = fallback};
  }
  static constexpr OnnxAttribute text(std::string_view name, std::string_view fallback) {
    return {.name = name, .kind = AttributeKind::kText, .fallback = fallback};
  }
  static constexpr OnnxAttribute list(std::string_view name, PerDimension fallback) {
    return {.name = name, .kind = AttributeKind::kList, .fallback = fallback};
  }
  static constexpr OnnxAttribute givenInteger(std::string_view name) {
    return {.name = name, .kind = AttributeKind::kScalar};
  }
  /// A list that is empty where it is left out.
  static constexpr OnnxAttribute optionalList(std::string_view name) { return list(name, {0, 0}); }
  /// A list without a default.
  static constexpr OnnxAttribute givenList(std::string_view name) {
    return {.name = name, .kind = AttributeKind::kList};
  }

  constexpr OnnxAttribute sparse() const {
    OnnxAttribute a = *this;
    a.isSparse = true;
    return a;
  }
  constexpr OnnxAttribute since(int64_t opset, std::string_view what) const {
    OnnxAttribute a = *this;
    a.firstOpset = opset;
    a.form = what;
    return a;
  }
  constexpr OnnxAttribute operandSince(int64_t opset, int position) const {
    OnnxAttribute a = *this;
    a.operandOpset = opset;
    a.operand = position;
    return a;
  }

  bool isOperand(int64_t opset) const { return operand >= 0 && opset >= operandOpset; }
};

/// ONNX's attributes where they are the operator's own, with the same defaults.
std::vector<OnnxAttribute> sameInOnnx(const std::vector<AttributeSpec>& attributes);

}  // namespace pet
