#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "rules/numbers.h"
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
  /// from. Inputs are leaves for which every value fits. `anyNumbers`: of the pattern, those that stand for others.
  /// Both programs outlive it.
  Unification(const Program& pattern,
              const Program& program,
              std::vector<bool> leaves = {},
              std::function<bool(Value)> fits = nullptr,
              std::vector<double> anyNumbers = {})
      : pattern_(pattern),
        program_(program),
        leaves_(std::move(leaves)),
        fits_(std::move(fits)),
        anyNumbers_(std::move(anyNumbers)) {}

  Assignment none() const { return Assignment(pattern_.nodes().size()); }
  /// Adds each way in which `so` goes on so that the pattern's value p stands for v: operators and what can be compared
  /// of attributes without symbols agree; what occurs twice stands for the same; operands of Add and Mul may be
  /// exchanged.
  void unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const;

  /// Extents and attributes that are numbers in the pattern are the same in the program: else equations() have no
  /// solution. (They say which.)
  bool numbersFit(const Assignment& a) const;
  /// What extents of inputs and attributes of nodes say of the pattern's symbols. kCheck: an input of another rank.
  Expected<std::vector<DimEquation>> equations(const Assignment& a) const;
  /// What the numbers that stand for others are in the program. kCheck: one is two.
  Expected<Numbers> numbers(const Assignment& a) const;
  /// Layouts and index maps agree, now that the symbols are known.
  bool mapsFit(const Assignment& a, const Symbols& symbols) const;

  bool isLeaf(int node) const { return !leaves_.empty() && leaves_[static_cast<size_t>(node)]; }

 private:
  /// A value of the pattern that is to stand for one of the program, and what is to stand for something after it.
  struct Goal {
    Value p, v;
    const Goal* next = nullptr;
  };
  void reach(const Goal* goal, Assignment& so, std::vector<Assignment>& into) const;
  void reachOperands(const Goal& goal, Assignment& so, std::vector<Assignment>& into) const;
  bool isAny(double number) const;
  bool attributesFit(const Node& p, const Node& v) const;

  const Program& pattern_;
  const Program& program_;
  std::vector<bool> leaves_;
  std::function<bool(Value)> fits_;
  std::vector<double> anyNumbers_;
};

}  // namespace pet::rewrite
