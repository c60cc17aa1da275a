#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "rules/rewrite/solve.h"

namespace pet::rewrite {

/// What the nodes of a pattern stand for in a program, so far: by node of the pattern what its first output is; of a
/// leaf, the value. node -1: nothing yet.
using Assignment = std::vector<Value>;

/// Why tensors do not fit whose ranks differ.
inline constexpr std::string_view kOtherRank = "a tensor of another rank";

/// The one unification of a pattern with a part of a program. The program's extents may be numbers, as a model's are,
/// or have symbols, as a rule's.
class Unification {
 public:
  /// `leaves`: by node of the pattern, whether any value for which `fits` holds stands for it, whatever it is computed
  /// from. Inputs are leaves for which every value fits. Both programs and `leaves` outlive it.
  Unification(const Program& pattern,
              const Program& program,
              std::vector<bool> leaves = {},
              std::function<bool(Value)> fits = nullptr)
      : pattern_(pattern), program_(program), leaves_(std::move(leaves)), fits_(std::move(fits)) {}

  Assignment none() const { return Assignment(pattern_.nodes().size()); }
  /// Adds each way in which `so` goes on so that the pattern's value p stands for v: operators and what can be compared
  /// of attributes without symbols agree; what occurs twice stands for the same; operands of Add and Mul may be
  /// exchanged.
  void unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const;

  /// What extents of inputs and attributes of nodes say of the pattern's symbols. kCheck: an input of another rank.
  Expected<std::vector<DimEquation>> equations(const Assignment& a) const;
  /// Layouts and index maps agree, now that the symbols are known.
  bool mapsFit(const Assignment& a, const Symbols& symbols) const;

  bool isLeaf(int node) const { return !leaves_.empty() && leaves_[static_cast<size_t>(node)]; }

 private:
  const Program& pattern_;
  const Program& program_;
  std::vector<bool> leaves_;
  std::function<bool(Value)> fits_;
};

}  // namespace pet::rewrite
