#pragma once

#include <map>
#include <optional>
#include <vector>

#include "applier/onnx/graph.h"
#include "ir/program.h"
#include "rules/numbers.h"
#include "rules/rewrite/solve.h"

namespace pet {

/// The operators of one result in a pattern that depend on its symbols alone (a band mask, -inf): conditions on
/// constants (docs/applier.md, Match). In a model any constant may stand for one that has its value, however it was
/// made; where it broadcasts, extents of 1 in front do not count.
class ClosedValues {
 public:
  explicit ClosedValues(const Program& pattern);

  bool contains(Value v) const { return closed_[static_cast<size_t>(v.node)]; }
  /// By node of the pattern.
  const std::vector<bool>& nodes() const { return closed_; }
  /// What the extents and values of a model's constant say of the pattern's symbols. Of a Band, which is whole in its
  /// last two dimensions: how far the first value of a row, and of a column, goes on. kCheck: another rank.
  Expected<std::vector<rewrite::DimEquation>> equations(Value v, const Constant& constant) const;
  /// The number that a constant is all over, which one of the pattern's that stands for any number > 0 is there;
  /// nullopt: the pattern's value is no such number, or the constant is none.
  std::optional<Numbers::value_type> number(Value v,
                                            const Constant& constant,
                                            const std::vector<double>& anyNumbers) const;
  /// With `numbers` in the place of the pattern's. kCheck: the constant has other values. Throws OverflowError.
  Expected<void> check(Value v, const Constant& constant, const Bindings& symbols, const Numbers& numbers) const;

 private:
  bool broadcasts(Value v) const;

  const Program& pattern_;
  std::vector<bool> closed_;
};

}  // namespace pet
