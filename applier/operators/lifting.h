#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "applier/infer/infer.h"
#include "applier/view/model_sizes.h"
#include "applier/view/view.h"
#include "ir/ops/attribute.h"
#include "ir/ops/names.h"

// ONNX nodes on their way into a program: what the rows of onnx_rows.h read with.
namespace pet {

/// Why a node is not lifted. Thrown by rows and caught by the normaliser: the node passes through untouched.
struct NotLifted {
  std::string reason;
};

/// What is known of a graph's values while it is normalised.
struct Scope {
  const Inference* inference;
  const ModelSizes* sizes;
  const ViewBuilder* view;
  std::map<std::string, Value, std::less<>> values;         ///< lifted values
  std::map<std::string, Constant, std::less<>> constants;   ///< initializers and what was folded, of any type
  std::set<std::string, std::less<>> neverTrue = {};        ///< conditions (read/finite.h)
  std::map<std::string, size_t, std::less<>> readers = {};  ///< how often a value is read, or an output
};

/// One ONNX node on its way into a view.
class Lifting {
 public:
  Lifting(const GraphNode& node, int position, int64_t opset, const Scope& scope, ViewBuilder& builder)
      : opset_(opset), node_(node), position_(position), scope_(scope), builder_(builder) {}

  int64_t opset() const { return opset_; }
  const GraphNode& node() const { return node_; }
  size_t operandCount() const { return node_.inputs.size(); }
  /// The operand is there (ONNX leaves optional ones out).
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Refuses numbers that the model keeps with a zero point, but where the node moves or sums them.
  Value operand(size_t i) const;
  /// An operand of truth values that the view computes; nullopt: another one.
  std::optional<Value> truth(size_t i) const;
  /// A constant integer operand's values.
  std::vector<int64_t> integers(size_t i) const;
  /// A constant floating-point operand's values.
  std::vector<double> numbers(size_t i) const;
  Extents constantExtents(size_t i) const;
  /// A condition that holds nowhere.
  bool isNeverTrue(size_t i) const { return has(i) && scope_.neverTrue.contains(node_.inputs[i]); }

  int64_t integer(std::string_view name, int64_t fallback) const;
  /// A float stands for the shortest decimal that rounds to it: 1e-05, not 9.99999975e-06.
  double number(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback) const;
  std::optional<std::vector<double>> floats(std::string_view name) const;

  // A row's attribute: in the form that the opset gives it, or what stands for it.
  int64_t integer(const OnnxAttribute& a) const;
  double number(const OnnxAttribute& a) const;  ///< integers, too
  std::string text(const OnnxAttribute& a) const { return text(a.name, std::get<std::string_view>(a.fallback)); }
  /// Nullopt where it is left out.
  std::optional<std::vector<int64_t>> given(const OnnxAttribute& a) const;
  /// `rank`: of the first operand.
  std::vector<int64_t> list(const OnnxAttribute& a, size_t rank) const;

  /// Refuses extents that the model leaves open.
  Extents extents(Value v) const;
  /// The extent is known to be at least n, in every run.
  bool isAtLeast(const Dim& extent, int64_t n) const;
  bool isConstant(Value v) const { return builder_.isConstant(v); }
  /// What a constant value of floating point is, of any size.
  Tensor<double> valueOf(Value constant) const;
  /// The operands of what computes a value, if it is this operator; empty if not.
  std::vector<Value> operandsOf(Value v, OpName op) const;
  /// An attribute of what computes a value, which has it.
  double numberOf(Value v, std::string_view attribute) const { return builder_.program().node(v).number(attribute); }
  ElementType element(Value v) const { return builder_.element(v); }
  const Shape& shape(Value v) const { return builder_.program().shape(v); }
  size_t rank(Value v) const { return shape(v).size(); }
  /// 0 <= result < rank.
  size_t axis(int64_t axis, size_t rank) const;

  /// An operand of integers less its zero point, which is another operand; one for each position of a dimension where
  /// both are constants.
  Value centred(size_t i, size_t zeroPoint, size_t dimension) const;
  bool isConstant(size_t i) const { return findConstant(i) != nullptr; }
  bool isCentred(Value v) const { return builder_.zeroPoint(v).has_value(); }

  /// What an operator computes, in normal form, on behalf of this ONNX node.
  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) const;
  /// A Layout that regroups `x` into `extents`, or a Reshape where there is none; where `x` was regrouped from them,
  /// what it was.
  Value reshape(Value x, const Shape& shape) const;
  Value reshape(Value x, const Extents& extents) const { return reshape(x, shapeOf(extents)); }
  /// The extents of a result as they were inferred; refuses where they are not known.
  const Shape& inferredShape(size_t output) const;
  /// The element type of a result as it was inferred; kUnknown where it is not known.
  ElementType inferredElement(size_t output) const;
  /// A constant that ONNX does not hold as such, in the element type of `like`.
  Value constant(const Tensor<double>& tensor, Value like) const;
  Value constant(const Tensor<double>& tensor, ElementType element) const;
  /// An identity matrix, of which the model may leave the extent open.
  Value identity(const Expr& extent, ElementType element) const;
  /// 1 where a condition holds and 0 elsewhere, of a type; and the condition of which a value is that.
  Value asNumbers(Value condition, ElementType to) const;
  std::optional<Value> conditionOf(Value numbers) const;

  [[noreturn]] static void refuse(std::string reason) { throw NotLifted{std::move(reason)}; }

 private:
  class Builder;
  const GraphAttribute* find(std::string_view name) const;
  const Constant* findConstant(size_t i) const;
  std::string whyNotInView(const std::string& name) const;
  std::string freshName() const;
  bool takesSums() const;
  void requireOneStorage(std::span<const Value> operands) const;
  Value node(const OpRow& op, std::vector<Value> operands, Attributes attributes) const;
  /// Where a factor of a MatMul that was read went to its first operand: what was read is of that operand, too.
  void scaleReadAway(const ReadAway& product, Value scaled) const;

  int64_t opset_;
  const GraphNode& node_;
  int position_;
  const Scope& scope_;
  ViewBuilder& builder_;
  mutable int added_ = 0;
};

std::vector<Expr> exprs(const std::vector<int64_t>& list);
/// The extents as a list of an attribute; refuses products of open ones.
std::vector<Expr> affine(const Shape& extents);

}  // namespace pet
