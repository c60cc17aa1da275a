#pragma once

#include "ir/region.h"
#include "ir/sum.h"

// How one output's denotation is put together (docs/rule-language.md, Proofs). Private to the denotation.
namespace pet {

inline tl::unexpected<Error> unsupported(std::string what) {
  return fail(ErrorKind::kUnsupported, std::move(what));
}

/// The function that a node applies, with its attributes; and the facts that hold for these.
std::string functionKey(const Node& node);
/// Divides a sum by the largest positive fraction of which all its coefficients are whole multiples, and returns that.
Rational takeContent(Sum& sum);
Facts factsOf(const Node& node);

std::vector<Expr> flat(const Index& at);
std::map<std::string, Expr> named(const std::vector<std::string>& names, const std::vector<Expr>& values);
std::vector<Constraint> substitute(const std::vector<Constraint>& all, const std::map<std::string, Expr>& by);

/// Of a program of primitive operators. Sums in denote.cc, functions in denote_function.cc, laws that take them apart
/// in denote_unfold.cc, maxima in denote_maximum.cc, uses of partial functions in denote_partial.cc.
class Denoter {
 public:
  Denoter(const Program& program, NameSource& names, const Unfold& unfold);
  Expected<Denotation> run(Value output);

 private:
  using Conjunction = std::vector<Constraint>;
  using Partials = std::vector<Partial>;

  /// What a value is under a function: 1 in `parts` (a mask), or the application there, 0 elsewhere.
  struct Applied {
    std::vector<std::string> index;
    Region parts;
    int application = -1;
    Rational scale = {};               ///< times this: f(2x) is 2 f(x)
    std::optional<Region> complement;  ///< of a mask's parts, where it is disjoint
    std::vector<Factor> others = {};   ///< times these, over `index`
    bool isOne = false;                ///< the application is 1: it is no factor, but may be used
    bool plusOperand = false;          ///< and the operand is added
  };

  const Program& program_;
  NameSource& names_;
  const Unfold& unfold_;
  std::map<int, int> inputNumber_;
  std::vector<int> first_;           ///< per node: the first one that computes the same, as text
  std::vector<bool> mayBeInfinite_;  ///< per node
  std::map<std::pair<std::string, Value>, Applied> applied_;
  std::map<Value, int> largest_;
  Denotation result_;
  size_t work_ = 0;
  size_t nesting_ = 0;

  /// Counts what copying a partial costs; an error where all of them cost too much (ir/limits.h).
  Expected<void> spend(const Partial& p);

  // Positions and relations.
  static std::pair<Index, Conjunction> positions(const Shape& shape, const std::vector<std::string>& index);
  std::vector<std::string> freshIndex(const Shape& shape);
  std::string freshLike(const std::string& name);
  Expected<std::vector<AccessPiece>> access(Value value, const Index& at);

  // Sums.
  Expected<Sum> sumAt(const std::vector<std::string>& index, const Conjunction& range, Value value, const Index& at);
  void dropContradictions(Sum& sum) const;
  int keep(Sum sum);
  void findRepetitions();
  Value first(Value v) const { return {first_[static_cast<size_t>(v.node)], v.output}; }
  void markInfinite();
  Expected<Partials> multiply(const Partial& by, Value value, const Index& at);

  // Functions.
  Expected<Partials> multiplyFunction(const Partial& by, Value value, const Index& at);
  Expected<Partials> multiplyUnary(const Partial& by, const Node& f, Value operand, const Index& at);
  Expected<Partials> multiplyMoved(const Partial& by, const Node& f, Value operand, const Index& at);
  Expected<Partials> multiplyApplied(const Partial& by, const Applied& applied, const Index& at);
  Expected<const Applied*> apply(const std::string& key,
                                 const Facts& facts,
                                 const Shape& shape,
                                 const std::vector<Value>& operands,
                                 Value subject);

  // Laws of functions that are unfolded.
  bool takeApart(Application& f, Sum& argument, Applied& result);
  bool isItsPositivePart(const Application& f, const Sum& argument);
  bool splitTerms(const Application& f, const Sum& argument, Applied& result);
  void takeFactorsOut(const Application& f, Sum& argument, Applied& result);
  int applicationTo(Application f, Sum argument);
  bool isOne(const Sum& sum) const;
  const Factor* invertedValue(const Factor& f) const;
  void cancelInverses(Partial& p);
  void writeMultiples(Sum& sum);

  // Uses of partial functions.
  struct Use {
    std::vector<std::string> reduction;
    Conjunction domain;
    std::vector<Factor> guards;
    friend bool operator==(const Use&, const Use&) = default;
  };
  struct Visit {
    Value value;
    Index at;
    Use use;
    friend bool operator==(const Visit&, const Visit&) = default;
  };
  std::vector<bool> holdsPartial_;  ///< per node: it is a partial function, or its operands hold one
  std::vector<Visit> visits_;

  void markPartial();
  Expected<void> addUses(Value value, const Index& at, const Use& use);
  Expected<void> addUsesOfReads(const Node& node, const AccessPiece& piece, Use use);
  Expected<std::vector<Use>> selected(const Use& use, Value condition, const Index& at);

  // Applications.
  const Application& application(int number) const { return result_.applications[static_cast<size_t>(number)]; }
  int keep(Application application);
  Factor factorOf(int application, std::vector<Expr> at) const;
  const Factor* copiedMaximum(const Sum& sum) const;

  // Maxima.
  Expected<int> largest(Value value);
  int pushInto(const Application& f, const Factor& maximum);
  int imageOf(const Application& f, Sum argument);
  Application::Alternative renamed(const Application::Alternative& a, std::map<std::string, Expr>& where);
  Piece renamed(Piece piece, std::map<std::string, Expr>& where);
  Expected<void> addAlternatives(Application& a, const Partial& p, Value value, const Index& at);
  Expected<void> addZeros(Application& a, const Partial& p, const Region& reached);
  Expected<void> addElement(Application& a, const Partial& p, Value value, const Index& at);
  Expected<void> flatten(Application& a, const Partial& p, const Sum& element, const Factor& maximum);
};

}  // namespace pet
