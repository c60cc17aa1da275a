#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "applier/infer/equal_symbols.h"
#include "ir/shape.h"
#include "ir/symbol_definitions.h"

namespace pet {

/// Terms of all extents, those within divisions too.
size_t termsOf(const Shape& shape);

/// Integers with symbols: the extents of a graph's values, and what models compute from them. Each is a Dim whose atoms
/// are sorted, so that equal products are equal Dims (their order means nothing here). What a Dim cannot hold, such as
/// N·S - 1 or a maximum, becomes a symbol: the same one for the same operation on the same operands, as long as
/// there are not very many. Nothing is ever approximated. Functions throw OverflowError beyond 64 bits, and where there
/// would be more than a million symbols.
class Sizes {
 public:
  Sizes() = default;
  /// `known`: what stands for others is given in their place.
  explicit Sizes(const EqualSymbols& known) : known_(known), equal_(known) {}
  /// The symbol of a name in the file: letters, digits and underscores of it, with a number where two would be equal.
  /// `least` counts the first time. Ask for all names before other symbols are made.
  Dim named(std::string_view fileName, int64_t least = 0);
  /// A symbol of its own, of which nothing is known but its least value; nullopt: not even that.
  Dim fresh(std::optional<int64_t> least = 0);
  /// A symbol that stands for another value in each execution of a Loop's body: no declaration says what it is.
  Dim varying();
  bool canMakeMore() const;
  /// One symbol, not of the file's: what it is depends on data, or no Dim could hold it.
  bool isMade(const Dim& d) const;
  /// A moment, to ask later whether all symbols of a Dim are from before.
  size_t moment() const { return made_.size(); }
  bool isFrom(const Dim& d, size_t moment) const;
  /// Symbols, by the file's names.
  const std::map<std::string, std::string, std::less<>>& names() const { return names_; }

  /// The least values of the symbols of which one is known.
  std::map<std::string, int64_t, std::less<>> leastValues() const;

  /// The symbols that stand for an operation, in the order in which they were made: Inference::made.
  const SymbolDefinitions& operations() const { return operations_; }

  Dim add(const Dim& a, const Dim& b);
  Dim subtract(const Dim& a, const Dim& b) { return add(a, multiply(b, Dim(-1))); }
  Dim multiply(const Dim& a, const Dim& b);
  Dim product(const Shape& shape);
  /// a / b where it is known that b divides a.
  Dim quotient(const Dim& a, const Dim& b);
  /// floor(a / divisor), divisor >= 1.
  Dim floorDivide(const Dim& a, int64_t divisor);
  /// ceil(a / divisor), divisor >= 1.
  Dim ceilDivide(const Dim& a, int64_t divisor) { return floorDivide(add(a, Dim(divisor - 1)), divisor); }
  /// ONNX's Div of integers, towards zero. Nullopt: a division by zero.
  std::optional<Dim> divide(const Dim& a, const Dim& b);
  /// ONNX's Mod of integers: with the sign of b, or with `fmod` that of a. Nullopt: a division by zero.
  std::optional<Dim> modulo(const Dim& a, const Dim& b, bool fmod);
  Dim maximum(const Dim& a, const Dim& b);
  Dim minimum(const Dim& a, const Dim& b);
  Dim absolute(const Dim& a);
  /// Two extents that are equal or of which one is 1. Nullopt: neither.
  std::optional<Dim> broadcast(const Dim& a, const Dim& b);

  /// No more symbols of the model's inputs are made. Until then they are the same ones each time that it is inferred.
  void closeInputs() { ofInputs_ = false; }
  /// Takes in, for the next time, that two extents are equal wherever the model runs: about symbols of its inputs.
  void equate(const Dim& a, const Dim& b) { equal_.equate(a, b); }
  /// Takes in, for the next time, that a name of the file's stands for an extent; the first time.
  void standFor(const Dim& named, const Dim& d) {
    if (auto symbol = named.affine().asVariable(); symbol && equal_.isFree(*symbol)) equal_.equate(named, d);
  }
  const EqualSymbols& equal() const { return equal_; }
  /// Takes in that an extent is at least 1 wherever the model runs.
  void requirePositive(const Dim& d);
  /// Those of which nothing else says so.
  const std::vector<Expr>& positive() const { return positive_; }
  /// There are symbols of the model's inputs, or names in its declarations.
  bool leavesOpen() const { return equal_.hasEntered(); }
  /// All symbols are those.
  bool isOfInputs(const Dim& d) const;

  /// Of two that are equal the one that says more: a constant, or one of the file's symbols.
  Dim sharper(const Dim& a, const Dim& b) const;

  /// A bound from below; nullopt: none is known.
  std::optional<int64_t> least(const Dim& d) const;
  /// a >= b for certain.
  bool isAtLeast(const Dim& a, const Dim& b);
  /// Nullopt: it depends, or nobody knows.
  std::optional<bool> isEqual(const Dim& a, const Dim& b);

 private:
  /// The symbol, or what stands for it.
  Dim symbol(std::string name, std::optional<int64_t> least);
  /// The symbol for an operation that no Dim is.
  Dim opaque(std::string_view operation, const Dim& a, const Dim& b, std::optional<int64_t> least);
  /// `d`, or the symbol for it if it is too large.
  Dim bounded(Dim d);
  std::optional<int64_t> least(Expr e) const;

  EqualSymbols known_, equal_;
  bool ofInputs_ = true;
  int next_ = 1;
  size_t remembered_ = 0;  ///< bytes of what opaque_ is asked by
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, std::string, std::less<>> names_;             ///< the file's name -> symbol
  std::map<std::string, std::optional<int64_t>, std::less<>> least_;  ///< symbol -> its least value
  std::map<std::string, size_t, std::less<>> made_;                   ///< symbol -> how many were made before
  std::set<std::string, std::less<>> varying_;
  std::map<std::string, std::pair<Dim, Dim>, std::less<>> bounds_;  ///< symbol of a minimum -> of what
  std::map<std::string, Dim, std::less<>> opaque_;                  ///< operation and operands -> the symbol for them
  SymbolDefinitions operations_;
  std::vector<Expr> positive_;
};

}  // namespace pet
