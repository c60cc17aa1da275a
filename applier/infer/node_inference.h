#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "applier/infer/infer.h"
#include "applier/infer/signatures.h"
#include "applier/infer/sizes.h"
#include "ir/tensor.h"

// What the rules of rules.h say of a node, they say with this.
namespace pet {

/// Nobody can run this node. Thrown by rules.
struct InvalidNode {
  std::string what;
};

/// A rule cannot say more. Thrown by rules; what was said before stands.
struct NothingKnown {};

/// The entries of a small tensor.
using SizeTensor = Tensor<SizeEntry>;
inline constexpr int64_t kMostSizeEntries = 1024;
/// At most kMostSizeEntries, and no extent below 0.
bool hasFewEntries(const Extents& extents);

/// A list that is an attribute in some opsets and an operand in others.
struct GivenList {
  bool given = false;                          ///< a node may leave it out
  std::optional<std::vector<int64_t>> values;  ///< if they are known
};

/// What infers a node's subgraphs.
class BodyInference {
 public:
  virtual ~BodyInference() = default;
  /// The types of the subgraph's outputs where these go in; may be asked again with others. Throws NothingKnown where
  /// too much was asked already.
  virtual std::vector<InferredType> outputs(const Subgraph& body, const std::vector<InferredType>& inputs) = 0;
};

/// One node on its way to the types of its results.
class NodeInference {
 public:
  /// `isExecuted`: whenever the model runs, so that what the node demands of its operands holds.
  NodeInference(const GraphNode& node,
                int64_t opset,
                const InferredTypes& types,
                Sizes& sizes,
                BodyInference& bodies,
                bool isExecuted = false);

  const GraphNode& node() const { return node_; }
  int64_t opset() const { return opset_; }
  Sizes& sizes() const { return sizes_; }

  // --- Operands ---

  size_t operandCount() const { return node_.inputs.size(); }
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Nothing known of one that is left out.
  const InferredType& operand(size_t i) const;
  bool hasShape(size_t i) const { return operand(i).dims.has_value(); }
  /// Throws NothingKnown where the rank is not known.
  const Shape& shape(size_t i) const;
  size_t rank(size_t i) const { return shape(i).size(); }
  /// The rank, which must be `rank`; throws NothingKnown where it is not known.
  const Shape& shapeOfRank(size_t i, size_t rank) const;
  /// Throws InvalidNode where the rank is known and another.
  void requireRank(size_t i, size_t rank) const;
  /// The entries; all unknown where nothing is known but constant extents of at most kMostSizeEntries; nullopt beyond.
  std::optional<SizeTensor> tensor(size_t i) const;
  /// The entries of a vector or scalar; nullopt: not even how many. Throws InvalidNode for higher ranks.
  std::optional<std::vector<std::optional<Dim>>> list(size_t i) const;
  /// The entries of a vector or scalar that are all constants.
  std::optional<std::vector<int64_t>> constants(size_t i) const;
  std::optional<std::vector<double>> numbers(size_t i) const;
  /// The only entry.
  std::optional<Dim> scalar(size_t i) const;
  std::optional<int64_t> constant(size_t i) const;

  // --- Attributes: `fallback` where a node leaves them out. Throw NothingKnown for a kind that pet does not read. ---

  bool hasAttribute(std::string_view name) const { return node_.attributes.find(name) != node_.attributes.end(); }
  int64_t integer(std::string_view name, int64_t fallback) const;
  /// An integer that is 0 or 1. Throws NothingKnown for others: engines differ.
  bool flag(std::string_view name, bool fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  const GraphAttribute* attribute(std::string_view name) const;
  /// Operand i, from opset `since` on; the attribute before.
  GivenList givenList(std::string_view name, size_t i, int64_t since) const;
  /// 0 <= result < rank. Throws InvalidNode.
  size_t axis(int64_t axis, size_t rank) const;
  size_t axisOf(std::string_view name, int64_t fallback, size_t rank) const {
    return axis(integer(name, fallback), rank);
  }
  /// Such axes; some engines take one twice.
  std::set<size_t> axes(const std::vector<int64_t>& list, size_t rank) const;

  // --- Subgraphs ---

  /// Throws NothingKnown where the attribute is no subgraph.
  const Subgraph& subgraph(std::string_view name) const;
  std::vector<InferredType> outputsOf(const Subgraph& body, const std::vector<InferredType>& inputs) const {
    return bodies_.outputs(body, inputs);
  }

  // --- Results ---

  size_t resultCount() const { return node_.outputs.size(); }
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  InferredType& result(size_t i);
  const std::vector<InferredType>& results() const { return results_; }
  /// Extents of a result; one below 0 counts as open.
  void setShape(size_t i, Shape dims);
  void setElement(size_t i, ElementType element);
  /// As an attribute gives it: 0 where that is left out.
  void setElement(size_t i, int64_t element) { setElement(i, static_cast<ElementType>(element)); }
  void setData(size_t i, SizeTensor tensor);
  /// An extent of which nothing is known, and so many of them.
  Dim open() const { return sizes_.fresh(); }
  Shape open(size_t rank) const;

  [[noreturn]] static void invalid(std::string what) { throw InvalidNode{std::move(what)}; }
  [[noreturn]] static void nothing() { throw NothingKnown(); }
  /// The node runs only where `a` and `b` are equal. Throws InvalidNode where they are numbers that differ.
  /// `isChecked`: no engine runs it with others.
  void requireEqual(const Dim& a, const Dim& b, std::string_view what, bool isChecked = true) const;
  /// The node runs only where this is at least 1.
  void requirePositive(const Dim& d) const {
    if (isExecuted_) sizes_.requirePositive(d);
  }

 private:
  const GraphNode& node_;
  int64_t opset_;
  const InferredTypes& types_;
  Sizes& sizes_;
  BodyInference& bodies_;
  bool isExecuted_;
  std::vector<InferredType> results_;
};

/// "operand 2": as people count.
std::string operandName(size_t i);

}  // namespace pet
