#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "ir/program.h"
#include "runtime/weights.h"

namespace pet::plan {

/// A constant that cannot be made. It leaves the folder as a value.
struct NoConstant : std::runtime_error {
  explicit NoConstant(Error e) : std::runtime_error(e.message()), error(std::move(e)) {}
  Error error;
};

/// What a program computes from its weights alone, made when somebody asks for it. The program, without symbols, and
/// what `weights` refers to outlive it.
class Constants {
 public:
  Constants(const Program& program, Weights weights);

  bool contains(Value v) const { return isConstant_[static_cast<size_t>(v.node)]; }
  /// A value that is contained; kept until it is dropped. Throws NoConstant: a weight is missing or of other extents,
  /// an operator that cannot be evaluated.
  TensorRef<float> value(Value v);
  /// The same where it is stored, if it need not be copied from there; else it is kept as above.
  StoredFloats stored(Value v);
  /// Lets a large value go; it is made again where it is asked for again.
  void drop(Value v);

 private:
  using Values = std::map<Value, TensorRef<float>>;

  std::vector<int> missingFor(int node) const;
  std::vector<TensorRef<float>> evaluated(int node, const Values& made) const;
  TensorRef<float> weight(int node) const;
  void checkExtents(int node, const Extents& extents) const;

  const Program& program_;
  Weights weights_;
  std::vector<bool> isConstant_;  ///< per node
  Values kept_;
};

}  // namespace pet::plan
