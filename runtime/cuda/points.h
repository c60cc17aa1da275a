#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/generate/point_kernel.h"
#include "runtime/cuda/planner.h"

namespace pet::cuda {

/// A PointKernel that grows operand by operand.
class Points {
 public:
  Points(Planner& planner, Place to);

  /// Broadcast to the result's extents; what it is called in the expression.
  std::string add(const Place& operand);
  std::string add(Value v) { return add(planner_.place(v)); }
  /// One number for each position of a dimension.
  std::string addAlong(size_t dimension, const std::vector<float>& numbers);
  /// `x` after all of the epilogue, of which `channel` is the dimension of scale and shift.
  std::string after(std::string x, const Epilogue& epilogue, size_t channel);
  /// Keeps the value of an expression; what it is called.
  std::string keep(const std::string& value);
  void emit(std::string value);

 private:
  Planner& planner_;
  Place to_;
  PointKernel kernel_;
  std::vector<int> buffers_;  ///< per pointer
  int kept_ = 0;
};

/// The function of the expression x.
std::string applied(const Activation& activation, const std::string& x);

}  // namespace pet::cuda
