#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/kernels/array.h"

namespace pet::session {

/// A node with the values of its operands: what a kernel sees.
class NodeCall {
 public:
  /// `operands`: null where the node leaves one out. They and the node outlive the call.
  NodeCall(const GraphNode& node, int64_t opset, std::vector<const Constant*> operands)
      : node_(node), opset_(opset), operands_(std::move(operands)) {}

  const GraphNode& node() const { return node_; }
  int64_t opset() const { return opset_; }
  size_t operandCount() const { return operands_.size(); }
  bool has(size_t i) const { return i < operands_.size() && operands_[i]; }
  /// Throws BadNode where it is left out.
  const Constant& operand(size_t i) const;
  const Extents& extents(size_t i) const { return operand(i).extents; }
  size_t rank(size_t i) const { return operand(i).extents.size(); }
  size_t resultCount() const { return node_.outputs.size(); }
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // Attributes; `fallback` where the node leaves them out. Throw BadNode for another kind.
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  const GraphAttribute* attribute(std::string_view name) const;

  /// A list that is an attribute before the opset `since` and operand i from then on.
  std::optional<std::vector<int64_t>> given(std::string_view name, size_t i, int64_t since) const;
  /// The only entry of an operand of integers.
  int64_t scalar(size_t i) const;
  /// 0 <= result < rank. Throws BadNode.
  size_t axis(int64_t axis, size_t rank) const;
  size_t axisOf(std::string_view name, int64_t fallback, size_t rank) const {
    return axis(integer(name, fallback), rank);
  }

 private:
  const GraphNode& node_;
  int64_t opset_;
  std::vector<const Constant*> operands_;
};

/// How an operator of ONNX is computed on tensors as they are, without a program: for integers, truth values, and what
/// depends on values. One result per output of the node; one that is left out may be empty.
struct KernelRow {
  std::string_view type;
  std::vector<Constant> (*run)(const NodeCall&);
  /// The operands come in widenedType(), aligned; else as they are, and bytes may lie anywhere.
  bool widens = true;
  /// Of a kernel that widens: the operand whose type the results have; -1: they are what the kernel says.
  int like = 0;
  /// An operand, by its number, in the form that the kernel reads it in. Null: as it is.
  Constant (*prepare)(size_t operand, const Constant&) = nullptr;
};

/// Of a node: what its kernel's `prepare` made of operands that are the same in every run, by their numbers.
using PreparedOperands = std::map<size_t, Constant>;

// The families.
std::span<const KernelRow> elementKernels();
std::span<const KernelRow> castKernels();
std::span<const KernelRow> moveKernels();
std::span<const KernelRow> windowMoveKernels();
std::span<const KernelRow> gatherKernels();
std::span<const KernelRow> scatterKernels();
std::span<const KernelRow> makeKernels();
std::span<const KernelRow> orderKernels();
std::span<const KernelRow> poolKernels();
std::span<const KernelRow> reduceKernels();
std::span<const KernelRow> detectionKernels();
std::span<const KernelRow> recurrentKernels();
std::span<const KernelRow> quantizeKernels();
std::span<const KernelRow> normalizationKernels();
std::span<const KernelRow> sampleKernels();
std::span<const KernelRow> attentionKernels();

/// Null: there is none.
const KernelRow* findKernel(std::string_view type);
/// Runs a kernel, with operands and results in the types that its row says. `prepared`: of operands that are not
/// prepared here. Throws BadNode.
std::vector<Constant> runKernel(const KernelRow& row, const NodeCall& call, const PreparedOperands& prepared = {});

}  // namespace pet::session
