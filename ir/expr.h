#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pet {

/// Integer arithmetic left the 64-bit range. Thrown by Expr arithmetic and evaluation; callers that handle foreign
/// extents (the applier) catch it at their boundary and refuse the site.
struct OverflowError : std::overflow_error {
  OverflowError() : std::overflow_error("integer overflow in an affine expression") {}
};

int64_t checkedAdd(int64_t a, int64_t b);
int64_t checkedMul(int64_t a, int64_t b);
/// Floor division and its remainder (0 <= remainder < divisor), for divisor > 0.
int64_t floorDivide(int64_t a, int64_t divisor);
int64_t floorModulo(int64_t a, int64_t divisor);

using Bindings = std::map<std::string, int64_t, std::less<>>;

/// A quasi-affine integer expression: constant + Σ coefficient · term, where a term is a variable (a shape symbol or an
/// index) or floor(expression / divisor) with a constant divisor. Immutable and kept in a normal form, so that equal
/// normal forms are equal expressions (the converse holds without divisions).
class Expr {
 public:
  Expr(int64_t constant = 0) : constant_(constant) {}
  static Expr variable(std::string name);

  bool isConstant() const { return terms_.empty(); }
  std::optional<int64_t> asConstant() const;
  /// The name, if the expression is exactly one variable.
  std::optional<std::string> asVariable() const;
  int64_t constant() const { return constant_; }
  bool hasDivision() const;

  /// Coefficient of a variable outside divisions.
  int64_t coefficient(std::string_view variable) const;
  /// Every variable that occurs, inside divisions too.
  void collectVariables(std::set<std::string>& into) const;
  std::set<std::string> variables() const;
  bool mentions(std::string_view variable) const;

  Expr substitute(const std::map<std::string, Expr>& by) const;
  /// Value under `bindings`; nullopt if a variable is unbound. Throws OverflowError.
  std::optional<int64_t> evaluate(const Bindings& bindings) const;

  /// Largest g > 0 that divides the constant and every coefficient (0 for the zero expression).
  int64_t content() const;
  /// The expression divided by `divisor`, when that divides constant and coefficients.
  std::optional<Expr> dividedBy(int64_t divisor) const;

  Expr operator-() const { return *this * -1; }
  Expr operator+(const Expr& other) const;
  Expr operator-(const Expr& other) const { return *this + (-other); }
  Expr operator*(int64_t factor) const;
  Expr& operator+=(const Expr& other) { return *this = *this + other; }
  friend Expr operator+(int64_t a, const Expr& b) { return Expr(a) + b; }
  friend Expr operator-(int64_t a, const Expr& b) { return Expr(a) - b; }
  friend Expr operator*(int64_t a, const Expr& b) { return b * a; }

  /// floor(e / divisor), e mod divisor, ceil(e / divisor); divisor >= 1.
  friend Expr floorDiv(const Expr& e, int64_t divisor);
  friend Expr modulo(const Expr& e, int64_t divisor);
  friend Expr ceilDiv(const Expr& e, int64_t divisor);

  /// Text form, e.g. "2W - Q + floor((P + 1)/2) - 3"; parseExpr in ir/text.h reads it back.
  std::string str() const;

  friend std::strong_ordering operator<=>(const Expr& a, const Expr& b);
  friend bool operator==(const Expr& a, const Expr& b) { return (a <=> b) == 0; }

  struct Division;
  /// A variable (division is null) or a floor division (name is empty).
  struct Term {
    std::string name;
    std::shared_ptr<const Division> division;
    friend std::strong_ordering operator<=>(const Term& a, const Term& b);
    friend bool operator==(const Term& a, const Term& b) { return (a <=> b) == 0; }
  };
  /// The terms with their non-zero coefficients, sorted.
  const std::vector<std::pair<Term, int64_t>>& terms() const { return terms_; }

 private:
  void addTerm(const Term& term, int64_t coefficient);
  /// (Σ terms, m) with floor(numerator/divisor) = Σ terms - floor(m/divisor), for coefficients in (0, divisor): a
  /// ceiling is a negated floor. Of the two forms the smaller one is the normal form: floor((H + 1)/2) is H -
  /// floor(H/2).
  static std::pair<Expr, Expr> mirrored(const Expr& numerator, int64_t divisor);

  int64_t constant_ = 0;
  std::vector<std::pair<Term, int64_t>> terms_;
};

struct Expr::Division {
  Expr numerator;
  int64_t divisor;
};

Expr floorDiv(const Expr& e, int64_t divisor);
Expr modulo(const Expr& e, int64_t divisor);
Expr ceilDiv(const Expr& e, int64_t divisor);

/// expr >= 0, or expr = 0.
struct Constraint {
  enum class Kind { kNonNegative, kZero };
  Expr expr;
  Kind kind = Kind::kNonNegative;

  static Constraint le(const Expr& a, const Expr& b) { return {b - a, Kind::kNonNegative}; }
  static Constraint lt(const Expr& a, const Expr& b) { return {b - a - 1, Kind::kNonNegative}; }
  static Constraint eq(const Expr& a, const Expr& b) { return {a - b, Kind::kZero}; }

  /// True or false when the expression is constant, else nullopt.
  std::optional<bool> decided() const;
  std::optional<bool> evaluate(const Bindings& bindings) const;
  Constraint substitute(const std::map<std::string, Expr>& by) const { return {expr.substitute(by), kind}; }
  /// "a <= b" or "a = b", with the negative terms moved to the left side.
  std::string str() const;

  friend auto operator<=>(const Constraint&, const Constraint&) = default;
};

}  // namespace pet
