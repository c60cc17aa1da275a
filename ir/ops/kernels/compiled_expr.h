#pragma once

#include "ir/expr.h"

namespace pet::kernels {

/// An Expr for fast evaluation: variables are numbered slots, or numbers put in when it is made.
class CompiledExpr {
 public:
  /// `slots` numbers the variables that stay open; all others must be bound.
  CompiledExpr(const Expr& e, const std::map<std::string, size_t>& slots, const Bindings& bindings);
  /// The value where slot i holds values[i]. Throws OverflowError.
  int64_t operator()(const std::vector<int64_t>& values) const;

 private:
  struct Division;
  int64_t constant_;
  std::vector<std::pair<size_t, int64_t>> linear_;
  std::vector<Division> divisions_;
};

struct CompiledExpr::Division {
  CompiledExpr numerator;
  int64_t divisor, coefficient;
};

inline CompiledExpr::CompiledExpr(const Expr& e, const std::map<std::string, size_t>& slots, const Bindings& bindings)
    : constant_(e.constant()) {
  for (const auto& [term, coefficient] : e.terms()) {
    if (term.division) {
      divisions_.push_back(
          {CompiledExpr(term.division->numerator, slots, bindings), term.division->divisor, coefficient});
    } else if (auto slot = slots.find(term.name); slot != slots.end()) {
      linear_.emplace_back(slot->second, coefficient);
    } else {
      constant_ = checkedAdd(constant_, checkedMul(coefficient, bindings.find(term.name)->second));
    }
  }
}

inline int64_t CompiledExpr::operator()(const std::vector<int64_t>& values) const {
  int64_t sum = constant_;
  for (const auto& [slot, coefficient] : linear_)
    sum = checkedAdd(sum, checkedMul(coefficient, values[slot]));
  for (const Division& d : divisions_) {
    sum = checkedAdd(sum, checkedMul(d.coefficient, floorDivide(d.numerator(values), d.divisor)));
  }
  return sum;
}

}  // namespace pet::kernels
