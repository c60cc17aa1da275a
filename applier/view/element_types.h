#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/program.h"
#include "ir/value_kinds.h"

// What programs may do with values of each element type (docs/semantics.md, Integers).
namespace pet {

/// The operator's values are values of its operands, chosen by position or by a condition, and a number that it is
/// given. Integers are real numbers, so what is true of such operators over the reals is true of any type, exactly.
bool movesValues(const OpRow& op);

/// Its first operand may be indices: what reads rows by them, or bounds them.
bool takesIndices(const OpRow& op);

/// The value is of floating point, or computed of values that are. `elements`: of the program's nodes.
bool dependsOnReals(const Program& program, const std::vector<ElementType>& elements, Value value);

/// The types of integers that sums are made of: of 8 bits, and those less a zero point, which 16 bits hold.
bool isNarrow(ElementType element);

/// What a node is given.
struct OperandType {
  ElementType element = ElementType::kUnknown;
  bool isConstant = false;
};

/// The type that holds a node's results. Any type may be moved. Of integers there are besides:
/// - sums of products of narrow ones (MatMul, Conv), and sums of those: int32;
/// - 8-bit integers less a zero point of their type: int16;
/// - what constants alone compute: int32.
/// - indices within bounds (Clip): as they were.
/// A comparison of numbers, and OneHot of indices, give truth values, by which Where chooses, ArgMax int64; Lookup what
/// the table is of.
/// `without`: the type of a node that has no operands. kUnsupported: another operator computes, or the type does not
/// have a number of the node's.
Expected<ElementType> resultType(const OpRow& op,
                                 const Attributes& attributes,
                                 std::span<const OperandType> operands,
                                 ElementType without);

/// How a model keeps integers: as they are, or as others of 8 bits, less a zero point.
struct Storage {
  ElementType element = ElementType::kUnknown;
  std::optional<Value> zero = std::nullopt;
  friend bool operator==(const Storage&, const Storage&) = default;
};
/// How it keeps a value that it computes. `elements` and `constant` are of the program's nodes. Nullopt: it moves
/// integers with different zero points into one tensor.
std::optional<Storage> storageOf(const Program& program,
                                 const std::vector<ElementType>& elements,
                                 const std::vector<bool>& constant,
                                 Value value);

/// Per node the type of a number that has no operands: of what it is compared with, or of the results.
std::vector<ElementType> typesOfNumbers(const Program& program,
                                        const std::function<ElementType(Value)>& input,
                                        ElementType result);

/// Why a program cannot have inputs of these types, in the order of Program::inputs(), and results of those; nullopt if
/// it can.
std::optional<std::string> whyNotOf(const Program& program,
                                    std::span<const OperandType> inputs,
                                    std::span<const ElementType> results);

}  // namespace pet
