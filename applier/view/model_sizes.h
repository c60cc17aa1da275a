#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/expr.h"

namespace pet {

/// What is known of the extents that a model leaves open, and at which sizes it is likely to run. Without any, the
/// model has one sample, which is empty.
class ModelSizes {
 public:
  ModelSizes() : samples_(1) {}
  /// `least`: of each symbol; of a symbol without one nothing is implied. `assumed`: what the user promises besides.
  ModelSizes(std::map<std::string, int64_t, std::less<>> least, std::vector<Constraint> assumed);

  /// Every choice of sizes satisfies the constraint. Found by bounds of single terms, together with at most one of the
  /// assumptions; false: no, or not found.
  bool implies(const Constraint& constraint) const;

  /// Sizes at which gains count, small ones first; none where none were found. The middle one is the typical.
  const std::vector<Bindings>& samples() const { return samples_; }
  const Bindings& typical() const { return samples_[samples_.size() / 2]; }
  void setSamples(std::vector<Bindings> samples) { samples_ = std::move(samples); }
  /// Of each symbol of which one is known; promises about one symbol count.
  const std::map<std::string, int64_t, std::less<>>& least() const { return least_; }
  const std::map<std::string, int64_t, std::less<>>& most() const { return most_; }
  /// The symbols that sizes are given for have at least their least value, and every assumption on them holds.
  bool isAdmissible(const Bindings& sizes) const;

  /// Symbols that stand for a part of one of the model's: seq_per_16.
  void setParts(std::set<std::string, std::less<>> parts) { parts_ = std::move(parts); }
  /// A symbol of the model, of which a user can promise something.
  bool isNamed(std::string_view symbol) const { return least_.contains(symbol) && !parts_.contains(symbol); }
  /// The same where each of these symbols is that many times what it was. Without samples.
  ModelSizes inMultiples(const std::map<std::string, int64_t>& multiples) const;

 private:
  void narrow(const Constraint& promise);
  std::optional<int64_t> lowerBound(const Expr& e) const;

  std::map<std::string, int64_t, std::less<>> least_, most_;
  std::vector<Constraint> assumed_;
  std::set<std::string, std::less<>> parts_;
  std::vector<Bindings> samples_;
};

}  // namespace pet
