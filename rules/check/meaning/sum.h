#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/program.h"

// The meaning of a program for the checker: docs/rule-language.md, "Proofs", implemented a second time. Nothing of the
// prover's side (ir/denote.h, the rows' relations, obligations and facts) is used here, so that a mistake there is not
// repeated here.
namespace pet::check {

/// An exact coefficient, reduced, with a positive denominator.
struct Fraction {
  int64_t over = 1, under = 1;
  friend bool operator==(const Fraction&, const Fraction&) = default;
  std::string str() const;
};
Fraction reduced(int64_t over, int64_t under);
Fraction operator*(const Fraction& a, const Fraction& b);
Fraction operator+(const Fraction& a, const Fraction& b);
/// The number, if it is n / 2^k with |n| < 2^31 and k <= 20.
std::optional<Fraction> fractionOf(double number);

using Conjunction = std::vector<Constraint>;

inline bool contains(const Conjunction& all, const Constraint& c) {
  return std::find(all.begin(), all.end(), c) != all.end();
}

struct Factor {
  enum class Kind { kInput, kApplication, kConstant };
  Kind kind = Kind::kInput;
  int number = 0;                     ///< of the input, in order of declaration; of the application
  std::string key = {};               ///< the application's function ("max"); the constant's formula
  std::vector<Expr> parameters = {};  ///< of a constant
  std::vector<Expr> at = {};          ///< digits
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// Whether a constant is known to be > 0, by its formula: a share of a mean or of a window, or a number.
bool isPositive(const Factor& constant);

/// coefficient · Π factors, summed over the reduction indices in the domain.
struct Piece {
  Fraction coefficient;
  std::vector<std::string> reduction;
  Conjunction domain;
  std::vector<Factor> factors;
};

struct Sum {
  std::vector<std::string> index;
  Conjunction range;
  std::vector<Piece> pieces;
  std::vector<Conjunction> finite = {{}};  ///< outside of these disjoint ones the value is -inf instead

  bool isFinite() const { return finite.size() == 1 && finite[0].empty(); }
};

/// What must hold of a function's argument for the function to have a value.
enum class Needs { kNothing, kNotZero, kNotNegative, kPositive };
/// The signs of a function's values, where they exist.
enum class Sign { kAny, kNotNegative, kPositive };

/// A function of sums, or the largest of its alternatives' elements.
struct Application {
  struct Alternative {
    std::vector<std::string> reduction;
    Conjunction domain;
    int element = 0;  ///< the sum over the application's index and `reduction`
  };
  std::string key;
  bool keepsZero = false;  ///< f(0) = 0 (for one argument), f(0, y) = 0
  std::vector<std::string> index;
  Conjunction range;
  std::vector<int> arguments = {};
  std::vector<Alternative> alternatives = {};
  /// A function was taken inside the maximum: the maximum must have an element at every position, since f(-inf) is not
  /// -inf.
  bool mustNotBeEmpty = false;
  Needs needs = Needs::kNothing;
  Sign sign = Sign::kAny;

  bool isMaximum() const { return !alternatives.empty(); }
};

/// The output's position needs the value of a partial function at `at`, for each point of `domain` at which no guard is
/// zero: as the program is written, even if the value cancels in its meaning.
struct Use {
  int application = 0;
  std::vector<std::string> reduction;
  Conjunction domain;
  std::vector<Expr> at;
  std::vector<Factor> guards;
};

struct Meaning {
  std::vector<Sum> sums;  ///< number 0 is the output
  std::vector<Application> applications;
  std::vector<Use> uses;
};

/// No value of the sum is < 0, whatever the inputs: by the signs of all that is multiplied.
bool isNotNegative(const Meaning& meaning, const Sum& sum);

/// "c_1", "r_2", …: one counter for all stems.
class Names {
 public:
  std::string fresh(const std::string& stem) { return stem + "_" + std::to_string(++count_); }

 private:
  int count_ = 0;
};

/// The program is beyond what the page defines. Thrown inside this folder only.
struct Opaque : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The operator's name, which is all that is used of its row.
std::string_view opOf(const Node& node);

/// The operators that a record unfolds: they stand for their definitions, or a law takes them apart; "multiples" stands
/// for terms of the output that are written several times (docs/rule-language.md, Unfolding).
using Unfolded = std::vector<std::string>;
/// Whether the operator is unfolded.
bool canBeUnfolded(std::string_view op);

/// The meaning of one of a program's outputs, by place. kUnsupported: an operator without one.
Expected<Meaning> meaningOf(const Program& program, size_t output, Names& names, const Unfolded& unfolded = {});

/// The operators' conditions on the shape symbols, and that extents are >= 1 (>= 0 where only a Concat reads the
/// value).
Conjunction demandsOf(const Program& program);

}  // namespace pet::check
