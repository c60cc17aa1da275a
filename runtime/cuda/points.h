#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/generate/point_kernel.h"
#include "runtime/cuda/planner.h"

namespace pet::cuda {

/// What an expression for the elements of a result refers to.
class Operands {
 public:
  virtual ~Operands() = default;
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// Broadcast to the result's extents; what it is called in the expression.
  virtual std::string add(const Place& operand) = 0;
  std::string add(Value v) { return add(planner_.place(v)); }
  /// One number for each position of a dimension.
  std::string addAlong(size_t dimension, const std::vector<float>& numbers);
  /// `x` after all of the epilogue, of which `channel` is the dimension of scale and shift.
  std::string after(std::string x, const Epilogue& epilogue, size_t channel);

 protected:
  Operands(Planner& planner, Place to) : planner_(planner), to_(std::move(to)) {}

  Planner& planner_;
  Place to_;
};

/// A PointKernel that grows operand by operand.
class Points final : public Operands {
 public:
  Points(Planner& planner, Place to);

  using Operands::add;
  std::string add(const Place& operand) override;
  /// Keeps the value of an expression; what it is called.
  std::string keep(const std::string& value);
  void emit(std::string value);

 private:
  PointKernel kernel_;
  std::vector<int> buffers_;  ///< of operands, per pointer
  int kept_ = 0;
};

/// The sum of such operands. Throws NotLowered: they are too many.
std::string sumOf(Points& points, const std::vector<Place>& addends);

/// The function of the expression x.
std::string applied(const Activation& activation, const std::string& x);

}  // namespace pet::cuda
