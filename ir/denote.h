#pragma once

#include <set>

#include "ir/ops/op.h"

namespace pet {

/// Names of operators that stand for their definitions (OpRow::definition), or that a law takes apart (Facts): Exp,
/// Relu, Reciprocal and odd functions.
using Unfold = std::set<std::string, std::less<>>;
/// A name as of an operator: terms of the output that are multiples of others are written several times.
inline constexpr std::string_view kMultiples = "multiples";
/// In the same way: Relus are products with conditions, by where their argument is positive, or by where it is
/// negative.
inline constexpr std::string_view kPositive = "positive", kNegative = "negative";

/// One factor of a monomial.
struct Factor {
  enum class Kind {
    kInput,        ///< an element of an input
    kApplication,  ///< a value of a function or a maximum
    kConstant,     ///< a number that the key, the parameters and `at` determine (ConstantRead)
  };
  Kind kind = Kind::kInput;
  int number = 0;                     ///< in Program::inputs(), or in Denotation::applications
  std::string key = {};               ///< of a constant, or the application's function
  std::vector<Expr> parameters = {};  ///< of a constant
  std::vector<Expr> at = {};          ///< flat digits
  bool positive = false;              ///< a constant that is > 0

  /// Factors of two programs can be equal only if they are of one kind: the same input, function or formula.
  bool sameKind(const Factor& other) const {
    return kind == other.kind && key == other.key && (kind == Kind::kApplication || at.size() == other.at.size()) &&
           parameters.size() == other.parameters.size() && (kind != Kind::kInput || number == other.number);
  }
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// Σ over `reduction` in `domain` of coefficient · Π factors, at position v of the sum that it belongs to.
struct Piece {
  Rational coefficient;
  std::vector<std::string> reduction;
  std::vector<Constraint> domain;
  std::vector<Factor> factors;  ///< sorted by kind, then input or key, then number
};

/// A multilinear value: O[v] = Σ pieces (docs/semantics.md, Programs are sums of products). `index` names the digits of
/// v; every piece's domain holds v's own range too.
struct Sum {
  std::vector<std::string> index;
  std::vector<Constraint> range;  ///< of the index
  std::vector<Piece> pieces;
  /// Outside of these disjoint conjunctions the value is -inf, whatever the pieces say.
  std::vector<std::vector<Constraint>> finite = {{}};

  bool isFinite() const { return finite.size() == 1 && finite[0].empty(); }
};

/// A value that is not a sum of products of its operands: a function of sums, position by position, or the largest of
/// some sums. The reduction indices of alternatives count as digits of their element's position.
struct Application {
  struct Alternative {
    std::vector<std::string> reduction;
    std::vector<Constraint> domain;
    int element = 0;  ///< the sum at (index, reduction)
  };
  std::string key;  ///< the function with its attributes, "LeakyRelu 0.01"; "max"
  Facts facts;
  std::vector<std::string> index;
  std::vector<Constraint> range;
  std::vector<int> arguments;             ///< of a function: sums over `index`
  std::vector<Alternative> alternatives;  ///< of a maximum; not empty

  bool isMaximum() const { return !alternatives.empty(); }
};

/// The output at v evaluates a partial function at `at`, whether or not the value matters: for each point of (v,
/// reduction) in `domain` at which no guard is zero.
struct PartialUse {
  int application = 0;
  std::vector<std::string> reduction;
  std::vector<Constraint> domain;
  std::vector<Expr> at;        ///< a position of the application
  std::vector<Factor> guards;  ///< applications and numbers that select or weigh what is evaluated
};

/// The meaning of one output of a program. It is a sum itself, number 0; the digits of its position are "v0", "v1", …,
/// in the order of the output's dimensions and their atoms. Applications refer to earlier applications only.
struct Denotation : Sum {
  std::vector<Sum> nested;  ///< sums 1, 2, …: arguments and elements
  std::vector<Application> applications;
  /// Of Reciprocal, Sqrt and the like: what the output depends on as a program, before anything cancels.
  std::vector<PartialUse> partialUses;
  Unfold unfolded;  ///< of the operators that were to be unfolded, those for which it made a difference

  const Sum& sum(int number) const {
    return number == 0 ? static_cast<const Sum&>(*this) : nested[static_cast<size_t>(number - 1)];
  }
};

/// Inlines every operator's access relation, after `lower()`. Reduction indices and the digits of applications get
/// fresh names from `names`, uses of partial functions after everything else; the result is a function of the program
/// and the state of `names` alone, so a proof record may refer to sums, pieces, applications and uses by number and to
/// indices by name. Pieces with a constraint that is false for constants are left out. kUnsupported: an operator is
/// opaque, with its name.
Expected<Denotation> denote(const Program& program, Value output, NameSource& names, const Unfold& unfold = {});

/// The same program with every operator that has `lower` replaced by others, and those in `unfold` by their
/// definitions.
Expected<Program> lower(const Program& program, const Unfold& unfold = {});
/// What may be unfolded in a program: operators with a definition, those that a law takes apart.
struct Unfoldable {
  Unfold definitions, laws;
};
Expected<Unfoldable> unfoldable(const Program& program);

/// All conditions of the rows on the shape symbols, and on extents: >= 0 for values that only a Concat reads, >= 1 for
/// others.
std::vector<Constraint> obligations(const Program& program);

}  // namespace pet
