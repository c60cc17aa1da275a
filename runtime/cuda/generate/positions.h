#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/index_map.h"

namespace pet::cuda {

/// Indices and offsets below this are computed in 32 bits; what is behind an offset is added in 64.
constexpr int64_t kMostNarrow = int64_t{1} << 30;

/// Where tensors lie at a position of several loops, as expressions of the loops' indices.
class Positions {
 public:
  /// `prefix`: of the indices' names, which are prefix0, prefix1, …, the outermost first. `tables`: gets the tables
  /// that no expression stands for, as code.
  Positions(const std::vector<plan::MapAxis>& axes, std::string prefix, std::string& tables);

  /// Declares the indices of the `index`-th position, from the last axis on, each of which `fixed` ones leave out.
  std::string indices(const std::string& index, const std::vector<size_t>& fixed = {}) const;
  /// How far a tensor is from its offset, e.g. "+ a0 * 12 + a1".
  const std::string& offset(size_t tensor) const { return offsets_[tensor]; }
  /// Whether it is there, and not its fill, e.g. " && a1 < 7u"; "": always.
  const std::string& isThere(size_t tensor) const { return conditions_[tensor]; }
  std::string name(size_t axis) const { return prefix_ + std::to_string(axis); }
  int64_t count() const;
  /// Types of indices, and of counts of positions: of 32 bits where these suffice.
  std::string_view indexType() const { return wide_ ? "long long" : "int"; }
  std::string_view countType() const { return wide_ ? "unsigned long long" : "unsigned"; }

 private:
  void describe(size_t axis, size_t tensor, std::string& tables);

  const std::vector<plan::MapAxis>& axes_;
  std::string prefix_;
  bool wide_ = false;
  std::vector<std::string> offsets_, conditions_;
};

/// The access with these dimensions only.
plan::Access onlyDimensions(const plan::Access& access, const std::vector<size_t>& dimensions);

}  // namespace pet::cuda
