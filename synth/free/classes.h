#pragma once

#include <limits>

#include "synth/free/kernels.h"

namespace pet::freemode {

using ClassId = uint32_t;
constexpr ClassId kNoClass = std::numeric_limits<ClassId>::max();
constexpr size_t kNoValue = std::numeric_limits<size_t>::max();

/// The deepest graphs whose node sets are kept; enumeration goes one deeper.
constexpr size_t kMostInner = 4;

/// One step on values that are known by their classes.
struct Application {
  uint32_t step = 0;
  ClassId a = kNoClass, b = kNoClass;  ///< b: none for a step with one operand
  friend auto operator<=>(const Application&, const Application&) = default;
};

/// The classes of values that a graph's operators compute, sorted; both outputs of a Split are one node.
struct NodeSet {
  std::array<ClassId, kMostInner> nodes{};
  uint8_t size = 0;

  bool contains(ClassId node) const;
  friend auto operator<=>(const NodeSet&, const NodeSet&) = default;
};
/// At most kMostInner nodes; nullopt if there are more.
std::optional<NodeSet> unite(const NodeSet& a, const NodeSet& b);
std::optional<NodeSet> with(const NodeSet& set, ClassId node);

/// A graph of minimal size for its class: the operator at its end, and which members of its operands' classes, counted
/// from each class's first, are below it.
struct Member {
  Application application;
  uint32_t memberA = 0, memberB = 0;
  NodeSet nodes;
};

/// Graphs that compute the same value of the same type, as far as one random input tells.
struct ValueClass {
  uint64_t fingerprint = 0;  ///< of extents and elements
  size_t value = kNoValue;   ///< where its elements begin, if they are kept
  uint32_t inputs = 0;       ///< which leaves its first member reads
  uint32_t firstMember = 0, members = 0;
  uint32_t type = 0;
  ClassId node = kNoClass;  ///< the class that stands for its last operator in node sets
  uint8_t size = 0;         ///< operators of a member; 0: a leaf
};

/// What the enumeration has found so far. Leaves come first, then class by class of growing size.
struct ClassTable {
  std::vector<Step> steps;
  std::vector<LeafLine> lines;
  std::vector<Constant> constants;  ///< by leaf
  bool distinctOperands = false;
  uint32_t folded = 0;  ///< leaves that are constants, if what reads them alone is left out
  Joins joins;
  std::vector<TensorType> types;
  std::vector<ValueClass> classes;
  std::vector<Member> members;  ///< by class; leaves have one without a step
  std::vector<Element> values;
  std::vector<ClassId> levels;  ///< where classes of each size begin; one more at the end
  Fingerprints fingerprints{0};

  size_t size() const { return levels.size() - 2; }  ///< of the largest graphs
  const TensorType& typeOf(ClassId c) const { return types[classes[c].type]; }
  bool hasValue(ClassId c) const { return classes[c].value != kNoValue; }
  TensorView view(ClassId c) const { return {&typeOf(c), values.data() + classes[c].value}; }
  std::span<const Member> membersOf(ClassId c) const {
    return {members.data() + classes[c].firstMember, classes[c].members};
  }
  bool isLeaf(ClassId c) const { return c < levels[1]; }
  /// The operators of the smallest graph that computes both.
  size_t unionSize(ClassId a, ClassId b) const;
  /// The leaves that the application reads.
  uint32_t inputsOf(const Application& a) const;
  /// Among interchangeable inputs a graph reads the first ones: of all graphs that differ in the names of inputs alone,
  /// at least one is so.
  bool isCanonical(uint32_t inputs) const;
  /// How many choices of inputs a canonical graph stands for.
  uint64_t multiplicity(uint32_t inputs) const;
};

}  // namespace pet::freemode
