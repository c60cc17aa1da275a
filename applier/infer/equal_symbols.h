#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "ir/shape.h"

namespace pet {

/// Symbols that are equal to another one, or to a number, in every run of a model. One stands for all that are equal:
/// the number, or the symbol that was entered first.
class EqualSymbols {
 public:
  /// The first time that it is named.
  void enter(const std::string& symbol) { order_.try_emplace(symbol, order_.size()); }
  /// Takes in that two extents are equal, where that says of one symbol that was entered that it is another such or a
  /// number >= 1. What contradicts what is known, or says something else, is not taken in.
  void equate(const Dim& a, const Dim& b);
  /// What stands for a symbol: itself where nothing is known.
  Expr of(const std::string& symbol) const;
  bool hasEntered() const { return !order_.empty(); }
  bool hasEntered(std::string_view symbol) const { return order_.contains(symbol); }
  /// Nothing is known of it.
  bool isFree(std::string_view symbol) const { return !equal_.contains(symbol) && !standing_.contains(symbol); }
  /// How many symbols are equal to what was entered before, or to a number.
  size_t count() const { return equal_.size(); }

 private:
  std::map<std::string, size_t, std::less<>> order_;
  std::map<std::string, Expr, std::less<>> equal_;  ///< what it is equal to: entered before, or a number
  std::set<std::string, std::less<>> standing_;     ///< for others
};

}  // namespace pet
