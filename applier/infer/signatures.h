#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// What ONNX's own table says of its operators: how many operands and results, of which types, and which attributes.
namespace pet {

/// One operand or result of a signature.
struct SignatureSlot {
  std::string_view type;  ///< an element type, or a type variable
  bool isOptional = false;
  bool isVariadic = false;  ///< the last: any number of them, of one type
  bool isRequired = true;   ///< of a variadic: at least one
  /// Not a tensor of one type: a sequence, an optional value, or a list of values of different types.
  bool isOther = false;
};

/// An operator from the opset `since` on, until the next signature of this name. The strings are lists separated by
/// spaces. Operands and results are written as their type: `T?` is optional, `T*` any number, `T+` at least one, `$S` a
/// sequence or an optional value, `_*` values of different types. Attributes are written `name:kind`, with `!` where
/// they must be given. Kinds: i f s is fs ss as in ONNX's INT FLOAT STRING INTS FLOATS STRINGS, t TENSOR, g GRAPH, p
/// SPARSE_TENSOR, y TYPE_PROTO.
struct Signature {
  std::string_view type;
  int64_t since;
  std::string_view inputs, outputs, attributes;
};

/// Where the table begins; it goes up to kNewestOpset (applier/onnx/graph.h).
inline constexpr int64_t kOldestOpset = 7;
/// The whole table, by name, then by opset.
std::span<const Signature> signatures();

/// Null: no such operator of ONNX's own domain in this opset, or one of before opset 7.
const Signature* findSignature(std::string_view type, int64_t opset);

/// The words of a list.
std::vector<std::string_view> wordsOf(std::string_view list);
/// Operands or results of a signature.
std::vector<SignatureSlot> slotsOf(std::string_view list);

}  // namespace pet
