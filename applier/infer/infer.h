#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/shape.h"
#include "ir/symbol_definitions.h"

// Shape and type inference for ONNX's own operators, opset 7 and later (docs/applier.md, Types).
namespace pet {

/// One entry of a tensor of sizes: unknown; an integer, perhaps with symbols, or a truth value as 0 or 1; or a constant
/// of a floating-point tensor.
using SizeEntry = std::variant<std::monostate, Dim, double>;

/// What is known of a value of a graph.
struct InferredType {
  enum class Kind { kUnknown, kTensor, kSequence, kOptional };
  Kind kind = Kind::kUnknown;
  ElementType element = ElementType::kUnknown;  ///< of the tensor, or of the tensors in it
  /// Extents of the tensor, or of each tensor in it. Atoms of a product are sorted; their order means nothing. No
  /// `dims`: the rank is not known.
  std::optional<Shape> dims = {};
  /// Entries in row-major order, of a tensor with constant extents of which some entries are known.
  std::optional<std::vector<SizeEntry>> data = {};

  /// The extents, if all are constants.
  std::optional<Extents> extents() const;
  /// As a file would declare it without symbols: extents that are no constants are unknown.
  ValueType declaration() const;

  friend bool operator==(const InferredType&, const InferredType&) = default;
};

using InferredTypes = std::map<std::string, InferredType, std::less<>>;

/// What is known inside a subgraph, or in the body of a function.
struct InferredScope {
  InferredTypes types;  ///< of its values, and of those that it takes from outside
  /// Values from outside that are constants there; they point into the graph that was inferred.
  std::map<std::string, const Constant*, std::less<>> constants = {};
};

/// The calls of a function.
struct FunctionUse {
  std::shared_ptr<const Graph> body;  ///< bodyFor() the first call
  InferredScope scope;                ///< its values
  std::vector<InferredType> operands;
  std::vector<bool> given;                 ///< operands that are not left out
  std::vector<const Constant*> constants;  ///< operands that are; null: one that is not
  std::map<std::string, GraphAttribute, std::less<>> attributes;
  /// All calls were looked into and are like the first: element types, extents, attributes, constants.
  bool agree = true;
};

struct InferenceProblem {
  /// kNode: the node is not one that ONNX allows, whatever the inputs. kDeclaration: the file declares for a value what
  /// cannot be.
  enum class Kind { kNode, kDeclaration };
  Kind kind;
  std::string text;  ///< one line: node, operator, what is wrong
};

struct InferOptions {
  bool freezeInputs = false;  ///< initializers that a caller may override are constants all the same
  /// The least value of an extent that the file leaves open. Nothing is said of runs with smaller ones.
  int64_t leastExtent = 1;
};

struct Inference {
  InferredTypes types;  ///< by the value's name
  /// The file's names of extents -> symbols in `types`.
  std::map<std::string, std::string, std::less<>> symbols;
  /// Other names of the file's -> what such an extent is in every run: a symbol in `types`, or a number.
  std::map<std::string, Expr, std::less<>> equal = {};
  /// The least value of each symbol in `types`; of one that is not here nothing is known.
  std::map<std::string, int64_t, std::less<>> least;
  /// At least 1 wherever the model runs, as far as `least` does not say so: the kernel of a convolution fits.
  std::vector<Expr> positive;
  SymbolDefinitions made;  ///< of those symbols in `types` that stand for an operation on others (a maximum, N·S - 1)
  std::vector<InferenceProblem> problems;
  std::map<const Graph*, InferredScope> inside;      ///< the subgraphs that were looked into
  std::map<const Function*, FunctionUse> functions;  ///< those that are called
};

/// Element types and extents of all values of a graph, from those of its inputs and initializers. Extents that the file
/// leaves open are symbols (those of one name are equal, and those that a node demands to be, if outputs need it and
/// the main graph has it); extents that depend on data are symbols of their own. Of a
/// value about which the operator's rule says nothing, the file's declaration is taken: nodes of other domains.
/// Subgraphs and the bodies of functions are inferred from what goes in; of what a Loop carries, the extents that it
/// keeps. Where the inference is sure and the declaration contradicts, that is a problem and the inference is taken.
/// What is said holds for runs in which every window fits into its padded operand and a Reshape's target that depends
/// on symbols holds no 0; no dimension has kFarAway positions. Work and memory are bounded by the graph's size. The
/// result points into `graph`.
Inference infer(const Graph& graph, const InferOptions& options = {});

}  // namespace pet
