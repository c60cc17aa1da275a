#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/shape.h"

// What free mode enumerates over (docs/free-mode.md).
namespace pet::freemode {

/// The most inputs and constants together; which of them a graph reads is kept in a word.
constexpr size_t kMostLeaves = 32;
constexpr size_t kMostRank = 4;
/// Of one input; what is joined may be larger.
constexpr int64_t kMostElements = 4096;

/// The tensors whose values are known.
enum class Constant {
  kNone,            ///< an input
  kEye,             ///< the identity matrix
  kOnes,            ///< ones
  kIdentityKernel,  ///< [C, C, R, S], one at [c, c, (R - 1)/2, (S - 1)/2]
  kMeanKernel,      ///< [C, 1, R, S], 1/(R S) everywhere
};
std::string_view constantName(Constant constant);

/// Where a graph begins: an input or a constant.
struct Leaf {
  std::string name;
  Extents extents;
  bool weight = false;                  ///< known before a model runs
  Constant constant = Constant::kNone;  ///< constants are weights
  size_t line = 0;                      ///< of Vocabulary::leafLines: those of one line are interchangeable
};

enum class OperatorKind {
  kAdd,
  kAveragePool,
  kConcat,
  kConv,
  kMatMul,
  kMaxPool,
  kMul,
  kPad,
  kRelu,
  kSigmoid,
  kSplit,
  kTanh,
  kTranspose,
};

enum class Activation { kNone, kRelu, kSigmoid, kTanh };

/// One operator with one choice of each of its attributes.
struct Operator {
  OperatorKind kind = OperatorKind::kAdd;
  Extents kernel = {};                        ///< Conv, pools: the window; Pad: the window that it makes
  int axis = 0;                               ///< Concat, Split
  Activation activation = Activation::kNone;  ///< Conv: what follows within the operator
  bool ofInputs = false;                      ///< Pad: its operand is an input
  friend bool operator==(const Operator&, const Operator&) = default;
};
std::string_view operatorName(OperatorKind kind);
std::string_view activationName(Activation activation);

/// The inputs of one line, or a constant; and one operator with the choices of its line, all combinations.
struct LeafLine {
  size_t first = 0, count = 0;
};
struct OperatorLine {
  OperatorKind kind;
  std::vector<Operator> choices;
};

struct Vocabulary {
  std::vector<Leaf> leaves;  ///< inputs first, then constants
  std::vector<LeafLine> leafLines;
  std::vector<OperatorLine> operatorLines;
  bool distinctOperands = false;  ///< no operator reads one value twice
  bool foldConstants = false;     ///< no operator reads constants alone: what it makes is a constant
  std::vector<Operator> operators() const;
};

/// Reads the text form. Errors (kText) carry file:line:column and what was expected: an unknown operator or attribute,
/// a constant whose shape it cannot have, an axis that no input has, no inputs, no operators.
Expected<Vocabulary> parseVocabulary(std::string_view text, std::string_view file);
/// parseVocabulary reads it back to the same.
std::string print(const Vocabulary& vocabulary);

}  // namespace pet::freemode
