#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "applier/onnx/inline.h"
#include "applier/view/view.h"

// Nodes of a program on their way out: what the rows of onnx_rows.h write with.
namespace pet {

/// Why something cannot be written as ONNX nodes. Thrown by rows, caught by emit().
struct NotEmitted {
  std::string reason;
};

/// What writing a replacement would come to.
struct EmissionTrial {
  std::optional<std::string> whyNot = {};  ///< nullopt: it can be written
  size_t sizeSteps = 0;                    ///< nodes that compute sizes which the model leaves open
};

/// What is subtracted from integers: a number, or where the model computes it a value.
struct ZeroPoint {
  int64_t number = 0;
  std::string name = {};
};

/// Where new nodes and initializers go, with names that are not taken.
class NodeSink {
 public:
  /// `sizes`: where the extents that the model leaves open are found.
  NodeSink(Graph& graph, ElementType element, TakenNames& taken, OpenSizes sizes = {})
      : graph_(graph), element_(element), taken_(taken), sizes_(std::move(sizes)) {}

  int64_t opset() const { return graph_.opset; }
  ElementType element() const { return element_; }
  std::string uniqueValue(const std::string& base) { return taken_.value(base); }
  std::string uniqueNode(const std::string& base) { return taken_.node(base); }
  /// The name of an initializer with this value: a known one, or a new one.
  std::string initializer(const std::string& base, const Constant& value);
  void node(GraphNode node) { graph_.nodes.push_back(std::move(node)); }
  /// Of the nodes that follow. `zero`: what stands for 0 in it.
  void setElement(ElementType element, ZeroPoint zero = {}) {
    element_ = element;
    zero_ = std::move(zero);
  }
  const ZeroPoint& zero() const { return zero_; }
  /// The type of indices that the nodes that follow read.
  void setIndex(ElementType element) { index_ = element; }
  ElementType index() const { return index_; }

  /// The name of an int64 tensor of one number: the extent when the model runs. Throws NotEmitted where it is not known
  /// from the graph's inputs.
  std::string size(const Dim& extent);
  /// size() would divide an extent of a graph input: who reads the model knows the result as a quotient.
  bool isQuotient(const Dim& extent) const;
  /// The same numbers in one tensor.
  std::string concatenated(const std::vector<std::string>& parts);
  /// How many nodes these two have made.
  size_t sizeSteps() const { return sizeSteps_; }

 private:
  std::string size(const Expr& extent);
  std::string size(const std::string& symbol);
  std::string wholeNumber(int64_t value);
  std::string step(std::string_view type,
                   std::vector<std::string> inputs,
                   const std::string& name,
                   std::map<std::string, GraphAttribute, std::less<>> attributes = {});

  /// Initializers of one type and extents, by position.
  struct Alike {
    std::vector<size_t> others;                                         ///< whose values were not looked at yet
    std::unordered_map<std::string, std::vector<size_t>> byStart = {};  ///< by the first bytes
  };

  Graph& graph_;
  std::map<std::pair<ElementType, Extents>, Alike> alike_ = {};
  size_t known_ = 0;  ///< so many initializers are entered there
  ElementType element_, index_ = ElementType::kInt64;
  ZeroPoint zero_;
  TakenNames& taken_;
  OpenSizes sizes_;
  std::map<std::string, std::string> shapes_, symbolSizes_, computedSizes_;  ///< values that are there already
  std::map<std::vector<std::string>, std::string> concatenated_;
  size_t sizeSteps_ = 0;
};

/// One node of a program on its way out.
class Emission {
 public:
  Emission(NodeSink& sink,
           const Program& program,
           int node,
           std::vector<std::string> operands,
           std::vector<std::string> outputs)
      : sink_(sink), program_(program), node_(node), operands_(std::move(operands)), outputs_(std::move(outputs)) {}

  int64_t opset() const { return sink_.opset(); }
  const Node& node() const { return program_.nodes()[static_cast<size_t>(node_)]; }
  const std::vector<std::string>& operands() const { return operands_; }
  const std::string& operand(size_t i) const { return operands_[i]; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::string& output() const { return outputs_[0]; }
  /// What an operand is the result of.
  const Node& producer(size_t operand) const { return program_.node(node().operands[operand]); }
  bool isTruth(size_t operand) const;  ///< of truth values that are computed
  ElementType element() const { return sink_.element(); }
  const Shape& shape(size_t operand) const { return program_.shape(node().operands[operand]); }
  const Shape& outputShape() const { return node().shapes[0]; }
  /// The extents, as numbers; throws NotEmitted where the model leaves some of them open.
  Extents extents(size_t operand) const { return numbers(shape(operand)); }
  Extents outputExtents() const { return numbers(outputShape()); }
  int64_t scalar(std::string_view name) const { return node().scalar(name).asConstant().value(); }
  /// Throws NotEmitted where a number of the list is left open.
  std::vector<int64_t> list(std::string_view name) const;

  using OnnxAttributes = std::map<std::string, GraphAttribute, std::less<>>;
  /// A node whose result is this node's, or an intermediate result with a fresh name; returns the name.
  std::string last(std::string_view type, std::vector<std::string> inputs, OnnxAttributes attributes = {}) const;
  std::string step(std::string_view type, std::vector<std::string> inputs, OnnxAttributes attributes = {}) const;
  void add(std::string_view type,
           std::vector<std::string> inputs,
           std::vector<std::string> outputs,
           OnnxAttributes attributes = {}) const;
  /// The name of an initializer.
  std::string integers(std::string_view what, const std::vector<int64_t>& values) const;
  std::string integers(std::string_view what, const Tensor<int64_t>& values) const;
  /// The extents as an operand: an initializer, or computed from the graph's inputs where the model leaves some open.
  std::string sizes(std::string_view what, const Shape& extents) const;
  std::string integer(std::string_view what, int64_t value) const;  ///< without dimensions
  std::string number(std::string_view what, double value) const;
  std::string indices(std::string_view what, const Tensor<int64_t>& values) const;  ///< of the type of the node's
  /// Always of float, whatever the model computes in.
  std::string numbers(std::string_view what, const std::vector<double>& values) const;
  /// The operator exists in this form since `opset` only.
  void require(int64_t opset, std::string_view what) const;

  // Moves, in the form of the model's opset. Each is left out where it would change nothing; `last` ones are then an
  // Identity.
  /// Extents that the model leaves open are copied where they stay in place; one may be what is left, and others are
  /// computed from the graph's inputs.
  std::string reshape(const std::string& x, const Shape& from, const Shape& to, bool isLast = false) const;
  std::string transpose(const std::string& x, const std::vector<int64_t>& perm, bool isLast = false) const;
  struct Range {
    int64_t start;
    std::optional<int64_t> end;  ///< nullopt: to the end
    int64_t step;
  };
  /// One range per dimension.
  std::string slice(const std::string& x,
                    const Shape& shape,
                    const std::vector<Range>& ranges,
                    bool isLast = false) const;
  std::string pad(const std::string& x,
                  const std::vector<int64_t>& pads,
                  double value,
                  const std::string& mode,
                  bool isLast = false) const;

 private:
  static Extents numbers(const Shape& shape);
  /// A Reshape's second operand: a constant, or computed where two of its extents are left open.
  std::string target(const Shape& from, const Shape& to) const;
  /// One number for each extent; those that are not known are computed.
  std::string sizes(std::string_view what,
                    const Shape& extents,
                    const std::vector<std::optional<int64_t>>& known) const;

  NodeSink& sink_;
  const Program& program_;
  int node_;
  std::vector<std::string> operands_, outputs_;
};

}  // namespace pet
