#pragma once

#include <optional>
#include <set>
#include <vector>

#include "applier/replace/instantiate.h"

namespace pet {

/// What two rewrites save because their layouts meet (docs/applier.md, Choose): the same clean-up that will run on the
/// model says so, on the part of the view that the two are in.
class LayoutSavings {
 public:
  /// The index outlives it.
  explicit LayoutSavings(const MatchIndex& index);

  /// Every node that may read a result of `a`, behind functions that layouts can pass: of other sites only those that
  /// hold one of them are worth asking about.
  std::set<int> behind(const Site& a) const;

  /// The nodes between a result of `a` and an operand of `b`, of which each is a function of one value that layouts can
  /// pass; nullopt where no such way leads from one to the other.
  std::optional<std::vector<int>> between(const Site& a, const Site& b) const;

  /// Bytes that layout operators need not write, at the typical sizes, if both rewrites are applied; `way` is
  /// between(a.site, b.site).
  int64_t bytes(const Rewrite& a, const Rewrite& b, const std::vector<int>& way) const;

 private:
  bool passes(int node, Value operand) const;

  const View& view_;
  Bindings sizes_;
  const Uses& uses_;
};

}  // namespace pet
