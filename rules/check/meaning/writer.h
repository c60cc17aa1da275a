#pragma once

#include <map>

#include "rules/check/meaning/function.h"
#include "rules/check/meaning/normal_form.h"

namespace pet::check {

/// Writes down the meaning of an expanded program. Throws Opaque and OverflowError.
class Writer {
 public:
  Writer(const Program& program, Names& names, const Unfolded& unfolded);
  Meaning meaningOf(Value output);

 private:
  using Products = std::vector<Product>;

  /// A function of a value, wherever it is asked for: a factor where one of `parts` holds, 0 elsewhere.
  struct Image {
    std::vector<std::string> index;
    std::vector<Conjunction> parts{{}};
    std::optional<int> application = {};  ///< none: the factor is 1
    Fraction times = {};
    /// Of Not of a mask: the mask itself, where its pieces are disjoint.
    std::optional<std::vector<Conjunction>> mask = {};
    std::vector<Factor> besides = {};  ///< more factors, over the index
    bool isOne = false;                ///< the application's value is 1: it is left out
    bool plusArgument = false;         ///< the argument's value is added
  };
  /// A position of a shape with named digits.
  struct Frame {
    std::vector<std::string> index;
    Position at;
    Conjunction range;
  };

  const Program& program_;
  Names& names_;
  const Unfolded& unfolded_;
  Meaning meaning_;
  std::map<int, int> inputs_;    ///< number by node
  std::map<int, int> earliest_;  ///< by node: one with the same operator, attributes and operands
  Value earliest(Value v) const { return {earliest_.at(v.node), v.output}; }
  bool isRepeated(const Node& a, const Node& b) const;
  std::map<std::pair<std::string, Value>, Image> images_;
  std::map<Value, int> maxima_;
  size_t work_ = 0;
  size_t nesting_ = 0;

  /// Counts what copying a product costs. Throws Opaque where all of them cost too much (docs/rule-language.md,
  /// Limits).
  void spend(const Product& product);

  /// Whether the value may be -inf somewhere, whatever the inputs: 0 times -inf is not a number.
  bool mayBeMinusInfinity(Value value);
  std::map<Value, bool> infinite_;

  static Frame frame(const Shape& shape, std::vector<std::string> index);
  Frame freshFrame(const Shape& shape);
  std::vector<Clause> relation(Value value, const Position& at);
  int keep(Sum sum);
  int keep(Application application);
  Factor factor(int application, std::vector<Expr> at) const;
  const Application& application(int number) const { return meaning_.applications[static_cast<size_t>(number)]; }

  Sum sum(const Frame& frame, Value value, const Position& at);
  bool isNotOf(const Factor& f, const Factor& condition) const;
  Products times(const Product& product, Value value, const Position& at);
  Products timesFunction(const Product& product, const Node& function, Value argument, const Position& at);
  Products timesMoved(const Product& product, const Node& function, Value argument, const Position& at);
  Products timesImage(const Product& product, const Image& image, const Position& at) const;

  const Image& image(const Node& function, const Shape& shape, const std::vector<Value>& arguments, Value subject);
  int maximumOfImages(const Function& f, const Application& image, const Factor& of);

  /// Partial functions: whether a value depends on one, the visited values, and the visit.
  struct Visit {
    Value value;
    Position at;
    std::vector<std::string> reduction;
    Conjunction domain;
    std::vector<Factor> guards;
    friend bool operator==(const Visit&, const Visit&) = default;
  };
  std::map<Value, bool> partial_;
  std::vector<Visit> visits_;
  bool isPartial(Value value);
  void visit(const Visit& v);
  void visitReads(const Visit& v, const Clause& clause);
  std::vector<Visit> whereNotZero(const Visit& v, Value condition, const Position& at);

  int maximum(Value value);
  void addAlternatives(Application& to, const Product& so, Value value, const Position& at);
  void addElement(Application& to, const Product& so, Value value, const Position& at);
  void addZeros(Application& to, const Product& so, const std::vector<Conjunction>& elsewhere);
  void addAlternativesOf(Application& to, const Product& so, const Piece& read);
  /// The piece under another name for everything that `by` has a value for, and fresh names for its own indices.
  Piece moved(Piece piece, std::map<std::string, Expr> by);

  static Fraction withoutContent(Sum& sum);

  // Laws of functions that are unfolded (laws.cc).
  bool isUnfolded(std::string_view op) const;
  bool takeApart(const Function& f, const Application& like, Sum& argument, Image& result);
  bool factorByTerms(const Function& f, const Application& like, const Sum& argument, Image& result);
  void factorOut(const Application& like, Sum& argument, Image& result);
  static void turnUpright(const Function& f, Sum& argument, Image& result);
  bool changesNothing(const Function& f, const Sum& argument) const;
  int made(Application a, Sum argument);
  std::optional<Factor> invertedBy(const Factor& f) const;
  void cancelInverted(Product& product) const;
  static void repeatMultiples(Sum& sum);
  std::string renew(const std::string& index) { return names_.fresh(index.substr(0, index.rfind('_'))); }
};

}  // namespace pet::check
