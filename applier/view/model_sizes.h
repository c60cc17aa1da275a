#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/symbol_definitions.h"

namespace pet {

/// What is known of the extents that a model leaves open, and at which sizes it is likely to run. Without any, the
/// model has one sample, which is empty.
class ModelSizes {
 public:
  ModelSizes() : samples_(1) {}
  /// `least`: of each symbol; of a symbol without one nothing is implied. `assumed`: what holds besides, since the user
  /// promises it or the model runs nowhere else.
  ModelSizes(std::map<std::string, int64_t, std::less<>> least, std::vector<Constraint> assumed);

  /// Every choice of sizes satisfies the constraint. Found by bounds of single terms, together with at most one of the
  /// assumptions; false: no, or not found.
  bool implies(const Constraint& constraint) const;

  /// Sizes at which gains count, small ones first; none where none were found. The middle one is the typical.
  const std::vector<Bindings>& samples() const { return samples_; }
  const Bindings& typical() const { return samples_[typicalIndex()]; }
  size_t typicalIndex() const { return samples_.size() / 2; }
  /// The least of the samples, the typical and the largest one, each once.
  std::vector<Bindings> spread() const;
  void setSamples(std::vector<Bindings> samples) { samples_ = std::move(samples); }
  /// Of each symbol of which one is known; promises about one symbol count.
  const std::map<std::string, int64_t, std::less<>>& least() const { return least_; }
  const std::map<std::string, int64_t, std::less<>>& most() const { return most_; }
  /// The symbols that sizes are given for have at least their least value, and every assumption on them holds.
  bool isAdmissible(const Bindings& sizes) const;

  /// What a symbol stands for a part of: seq is 16 times seq_per_16.
  struct Part {
    std::string symbol;
    int64_t times = 1;
  };
  using Parts = std::map<std::string, Part, std::less<>>;
  void setParts(Parts parts) { parts_ = std::move(parts); }
  /// Of symbols of the model that stand for an operation on others.
  void setOperations(SymbolDefinitions operations) { operations_ = std::move(operations); }
  /// Gives those of these symbols of the view that stand for an operation the value that it has, where it has one.
  /// Throws OverflowError.
  void evaluateOperations(const std::set<std::string>& symbols, Bindings& sizes) const;
  /// Sizes of symbols of the view as those of the model's own: seq in the place of seq_per_16.
  Bindings inModel(const Bindings& sizes) const;
  /// A symbol of the model, of which a user can promise something.
  bool isNamed(std::string_view symbol) const { return least_.contains(symbol) && !parts_.contains(symbol); }
  /// The same where each of these symbols is that many times what it was. Without samples.
  ModelSizes inMultiples(const std::map<std::string, int64_t>& multiples) const;

 private:
  void narrow(const Constraint& promise);
  /// What a symbol of the view is times a number of, or itself.
  Part partOf(const std::string& symbol) const;
  std::optional<int64_t> lowerBound(const Expr& e) const;

  std::map<std::string, int64_t, std::less<>> least_, most_;
  std::vector<Constraint> assumed_;
  Parts parts_;
  SymbolDefinitions operations_;
  std::vector<Bindings> samples_;
};

}  // namespace pet
