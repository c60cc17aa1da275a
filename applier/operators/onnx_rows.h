#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "applier/operators/emission.h"
#include "applier/operators/lifting.h"

// What each operator is in ONNX's own domain, both ways. Names, opsets and attributes are those of ir's rows
// (OpRow::onnx), by which an operator is read and written; rows here say what is not regular.
namespace pet {

struct OnnxRow;

/// The operator of the same name, with the row's attributes, by which operands it has.
std::vector<Value> readRegular(const Lifting& l, const OnnxRow& row);
/// One node, with the row's attributes: as attributes, or as operands behind the others.
void writeRegular(const Emission& e, const OnnxRow& row);

struct OnnxRow {
  std::string_view op = {};    ///< ours; empty where it is read as other operators
  std::string_view type = op;  ///< ONNX's operator
  /// The first opset in which it can be written; 0: what ir's row says.
  int64_t since = 0;
  /// ONNX's, as far as pet knows them; for regular rows, ours as well. In the order of the operands that they become.
  /// Where ir's row says which there are, they are those.
  std::vector<OnnxAttribute> attributes = {};
  /// One value per output (fewer: the rest is not lifted). Null: ONNX has no such operator. Throws NotLifted.
  std::vector<Value> (*read)(const Lifting&, const OnnxRow&) = readRegular;
  /// Null: never written. Throws NotEmitted.
  void (*write)(const Emission&, const OnnxRow&) = writeRegular;
  /// Of a regular row: refuses nodes that mean something else, and what a form of the operator lacks. Null: nothing.
  void (*readable)(const Lifting&) = nullptr;
  void (*writable)(const Emission&) = nullptr;
  bool takesBias = false;  ///< ONNX's has an operand more behind ours: one number per channel that is added
  /// What the operator is written as where it sums products of integers: behind ours, ONNX's has their zero points.
  bool ofIntegers = false;

  /// It has an attribute of this name.
  const OnnxAttribute& operator[](std::string_view attribute) const;
};

std::span<const OnnxRow> onnxConvRows();
std::span<const OnnxRow> onnxMoveRows();
std::span<const OnnxRow> onnxAttentionRows();
std::span<const OnnxRow> onnxEinsumRows();
std::span<const OnnxRow> onnxFunctionRows();
std::span<const OnnxRow> onnxIndexRows();
std::span<const OnnxRow> onnxPoolRows();
std::span<const OnnxRow> onnxResizeRows();
std::span<const OnnxRow> onnxFourierRows();
/// One for each operator that is read or written.
std::span<const OnnxRow> onnxTable();

/// The row by which nodes of this type are read; null if there is none.
const OnnxRow* findReader(std::string_view type);
/// The row by which an operator of ours is written; null if there is none. Inputs and what only constants are made of
/// need none.
const OnnxRow* findWriter(std::string_view op);

/// Writes a node of a program, of the sink's element type; where the opset lacks its operator, in the pieces of an
/// idiom (rules/rewrite/idioms.h). Throws NotEmitted.
void writeNode(NodeSink& sink,
               const Program& program,
               int node,
               std::vector<std::string> operands,
               std::vector<std::string> outputs);

/// Reads the row's attributes that are not in `into` yet; `operand` is the node's first.
void readAttributes(const Lifting& l, const OnnxRow& row, Value operand, Attributes& into);

/// What a row makes of attributes: ONNX attributes, and operands behind those that are given.
struct OnnxForm {
  std::vector<std::string> operands;
  Emission::OnnxAttributes attributes;
};
/// Those of the row's attributes that are in `values`, in the form of the model's opset. Throws NotEmitted.
OnnxForm formOf(const Emission& e, const OnnxRow& row, std::vector<std::string> operands, const Attributes& values);

/// Whether a replacement on tensors of one type can be written in a model of this opset.
EmissionTrial tryEmission(const Program& replacement, int64_t opset, ElementType element, const OpenSizes& sizes);
/// Why it cannot; nullopt if it can.
std::optional<std::string> whyNotEmitted(const Program& replacement,
                                         int64_t opset,
                                         ElementType element = ElementType::kFloat,
                                         const OpenSizes& sizes = {});

}  // namespace pet
