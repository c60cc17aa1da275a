#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "applier/onnx/bytes.h"
#include "ir/tensor.h"

namespace onnx {
class GraphProto;
class NodeProto;
class FunctionProto;
}  // namespace onnx

namespace pet {

/// ONNX's numbers of element types. Types that are not named here pass through by their number.
enum class ElementType : int {
  kUnknown = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

/// A Slice that ends so far away ends with its operand: torch writes the largest integers, tf2onnx writes this. No
/// dimension has as many positions.
constexpr int64_t kFarAway = 1'000'000'000;

/// Bytes of one element; 0 for types without a fixed size of whole bytes.
size_t elementSize(ElementType type);
std::string_view str(ElementType type);
/// The types that pet computes with: double, float, and those of 16 bits.
inline bool isComputed(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16;
}
/// The types whose values pet moves: those that it computes with, integers and truth values.
inline bool isMoved(ElementType type) {
  return elementSize(type) > 0;
}
/// Whether a type of integers or truth values has this number. Up to 2^31, which is as far as programs hold numbers.
bool hasNumber(ElementType type, double number);
/// The largest relative error of one rounding to a type that pet computes with.
double unitRoundoff(ElementType type);
/// The nearest number of a type that pet computes with; infinite beyond its range.
double roundedTo(ElementType type, double x);

/// A constant tensor: row-major, little-endian bytes, which may lie in the file it was read from. `bytes` is null where
/// the values are not at hand (strings, sub-byte types).
struct Constant {
  ElementType element = ElementType::kUnknown;
  Extents extents;
  Bytes bytes;

  static Constant of(const Tensor<float>& tensor);
  static Constant of(const Tensor<double>& tensor);
  static Constant of(const Tensor<int64_t>& tensor);
  /// The values rounded to a type that pet computes with; or of integers or truth values, which must have them. T:
  /// float or double.
  template <class T>
  static Constant rounded(ElementType element, const Tensor<T>& tensor);
  /// Integers or truth values, modulo 2^bits.
  static Constant whole(ElementType element, const Tensor<int64_t>& tensor);

  /// The values. T: float or double for a type that pet computes with, exact but for a double as float; int64_t for
  /// integers and truth values, modulo 2^64.
  template <class T>
  Tensor<T> values() const;
  /// The values of a tensor of integers or truth values; nullopt for other element types, or beyond int64.
  std::optional<std::vector<int64_t>> integers() const;
  /// The values of a tensor of a type that pet computes with; nullopt for other element types.
  std::optional<std::vector<double>> numbers() const;
};

/// A sparse tensor, of which the values are not looked into.
struct SparseConstant {
  ElementType element = ElementType::kUnknown;
  Extents extents;  ///< of the dense tensor that it stands for
  friend bool operator==(const SparseConstant&, const SparseConstant&) = default;
};

struct Graph;
struct Function;
/// A subgraph of If, Loop or Scan.
using Subgraph = std::shared_ptr<const Graph>;

/// std::monostate: a kind that pet does not look into (types, subgraphs of other operators).
using GraphAttribute = std::variant<std::monostate,
                                    int64_t,
                                    float,
                                    std::string,
                                    std::vector<int64_t>,
                                    std::vector<float>,
                                    std::vector<std::string>,
                                    Constant,
                                    Subgraph,
                                    SparseConstant>;

/// The newest opset of ONNX's own domain that pet knows. Operators of a newer one are read as they are in this one.
inline constexpr int64_t kNewestOpset = 28;

/// One node of an ONNX graph. Values are named; an omitted operand is "".
struct GraphNode {
  std::string name, type, domain;  ///< domain "" is ONNX's own
  std::map<std::string, GraphAttribute, std::less<>> attributes;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> captured;  ///< outer values that the node's subgraphs read
  bool standard = true;               ///< an operator of ONNX's own domain, not a function that the model defines
  /// Of a call of a function that the model defines. Null where functions call each other too deeply.
  std::shared_ptr<const Function> callee = nullptr;
  std::vector<std::shared_ptr<const Function>> hiddenCalls = {};  ///< in what pet does not look into
  /// In the body of a function: attributes whose values are those of the function's attribute of this name.
  std::map<std::string, std::string, std::less<>> references = {};
  std::shared_ptr<const onnx::NodeProto> original = nullptr;  ///< in the file it was read from; null: a new node
  /// Names, subgraphs and attributes that refer to a function's are no longer those of the original.
  bool renewed = false;
};

struct Initializer {
  std::string name;
  Constant value;
  bool overridable = false;  ///< also a graph input: a caller may replace it
  int original = -1;         ///< position in its graph in the file it was read from; -1: a new initializer
  bool outer = false;        ///< not of this graph, but of one around it (applier/read/open_graph.h)
};

/// What a file declares about a value. No `dims`: unknown rank; no entry in `dims`: unknown extent.
struct ValueType {
  ElementType element = ElementType::kUnknown;
  std::optional<std::vector<std::optional<int64_t>>> dims;
  /// The file's names of the unknown extents (dim_param), "" where it gives none: as many as `dims`, or none at all.
  std::vector<std::string> names = {};
  /// The name of a dimension, "" where it has none.
  std::string_view nameOf(size_t dimension) const {
    return dimension < names.size() ? std::string_view(names[dimension]) : std::string_view();
  }

  /// The extents, if all are known.
  std::optional<Extents> extents() const;
};

/// The main graph of a model, a subgraph or the body of a function, without protobuf. Nodes stand in topological order.
struct Graph {
  int64_t opset = 0;  ///< of ONNX's own domain
  std::vector<GraphNode> nodes;
  std::vector<Initializer> initializers;
  std::vector<std::string> inputs;  ///< without those that are initializers
  std::vector<std::string> outputs;
  std::set<std::string, std::less<>> sparse;  ///< sparse initializers: defined, but not looked into
  /// What the file declares. Of subgraphs without names of extents: those need not be the same in each execution.
  std::map<std::string, ValueType, std::less<>> types;
  std::vector<std::string> captured = {};  ///< of a subgraph: values of the graphs around it that it reads
  std::shared_ptr<const onnx::GraphProto> original = nullptr;  ///< in the file; null: the body of a function, or new
};

/// The versions of operator sets, by domain.
using Opsets = std::map<std::string, int64_t, std::less<>>;

/// "domain:name" or "domain:name:overload".
std::string functionKey(const std::string& domain, const std::string& name, const std::string& overload);

/// A function that the model defines.
struct Function {
  std::string name, domain, overload;
  std::map<std::string, GraphAttribute, std::less<>> defaults;  ///< of attributes that a call may leave out
  Graph body;                                                   ///< its inputs and outputs are the function's
  Opsets opsets;                                                ///< that it was written for
  size_t depth = 1;                                             ///< of the longest chain of calls that begins here
  bool isGeneric = false;                                       ///< some node's attributes are the call's
  std::shared_ptr<const onnx::FunctionProto> original;
  bool rewritten = false;  ///< the body is no longer the original's

  std::string key() const { return functionKey(domain, name, overload); }
};

/// What people call a node: its name, else its first result.
std::string nameOf(const GraphNode& node);
/// "node 'conv1' (Conv)", for messages.
std::string describe(const GraphNode& node);

/// An operator that goes between floating point and integers that stand for it, or that computes with such integers:
/// QuantizeLinear, QLinearConv, MatMulInteger.
bool isQuantized(const GraphNode& node);

/// Every name that a node reads: operands that are not omitted, and what its subgraphs capture.
std::vector<std::string> readsOf(const GraphNode& node);

/// How often each value is read: by the nodes, and as outputs.
std::map<std::string, size_t, std::less<>> readersIn(const Graph& graph);

/// Constants are equal by their bytes, subgraphs by their nodes, values and names.
bool sameConstant(const Constant& a, const Constant& b);
bool sameAttributeValues(const std::map<std::string, GraphAttribute, std::less<>>& a,
                         const std::map<std::string, GraphAttribute, std::less<>>& b);

/// How deep subgraphs, and calls of functions, may be nested.
inline constexpr size_t kMostNestedGraphs = 24;

/// Every name that the graph reads and does not define, sorted.
std::vector<std::string> capturedBy(const Graph& graph);

/// Calls visit(name of the attribute, subgraph) for each subgraph of a node.
template <class Visit>
void forEachSubgraph(const GraphNode& node, const Visit& visit) {
  for (const auto& [name, value] : node.attributes) {
    if (const auto* subgraph = std::get_if<Subgraph>(&value)) visit(name, *subgraph);
  }
}

}  // namespace pet
