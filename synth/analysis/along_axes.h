#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace pet {

/// An operator on activations that is a composition of operators of which each acts along one axis and leaves the
/// others alone: Resize, pools, reductions, Softmax, LogSoftmax, DFT and CumSum (along one), and a ConvTranspose whose
/// weights are a product of a kernel for each axis and of what concerns channels. EinNet, section 4.2, splits sums
/// likewise.
class AlongAxes {
 public:
  /// Of an operator of a program, which must outlive it; nullopt: it is no such one, or acts along no axis.
  static std::optional<AlongAxes> of(const Program& program, const Node& node);

  std::string_view op() const { return op_; }
  /// In ascending order.
  const std::vector<size_t>& axes() const { return axes_; }
  /// It is a matrix along each of its axes: no maximum, no function.
  bool isLinear() const;
  /// It needs two dimensions in front of those along which it acts, and one or more of these.
  bool isPool() const;
  /// Engines know it of images alone: with two dimensions in front of two others or more.
  bool isOfImages() const;
  /// It has weights: of the program, a kernel for each axis, of which only the axis has an extent, and factors for
  /// channels.
  bool isFilter() const { return !kernels_.empty(); }
  Value kernel(size_t axis) const { return kernels_.at(axis); }
  const std::vector<Value>& ofChannels() const { return ofChannels_; }
  /// Its last dimension holds the parts of one number (complex numbers), which it mixes as well: its matrix is of
  /// positions along its one axis, and parts.
  bool isOfParts() const;
  /// The attributes with which op() does the work of the axes first … last, all of them its own, and nothing else. The
  /// operand's dimension `at` is the axis `first`, and so on. All dimensions are kept. nullopt: it cannot be said of an
  /// operand with product dimensions.
  std::optional<Attributes> attributes(size_t first, size_t last, const Shape& operand, size_t at) const;
  /// Dimensions that the operator leaves out of its result at the end.
  const std::vector<Expr>& dropped() const { return dropped_; }

 private:
  AlongAxes(const Program& program, const Node& node);

  bool separateKernels(const Program& program);
  std::optional<Attributes> resized(size_t first, size_t last, const Shape& operand, size_t at) const;
  Attributes windowed(size_t first, size_t last, const Shape& operand, size_t at) const;

  const Node& node_;
  const Shape& in_;
  std::string_view op_;
  std::vector<size_t> axes_;
  std::vector<Expr> dropped_;
  std::map<size_t, Value> kernels_;
  std::vector<Value> ofChannels_;
};

/// Each element of the result is a function of one element of each operand, which broadcast.
bool isElementwise(const Node& node);

}  // namespace pet
