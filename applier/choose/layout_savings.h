#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "applier/replace/instantiate.h"

namespace pet {

/// What two rewrites save because their layouts meet (docs/applier.md, Choose): the same clean-up that will run on the
/// model says so, on the part of the view that the two are in.
/// Models repeat themselves, so that each part is cleaned up once for all that are alike but for names.
class LayoutSavings {
 public:
  /// Two sites, and the nodes between a result of the first and an operand of the second, each a function of one value
  /// that layouts can pass; as a part of the view.
  struct Meeting {
    ViewPart part;
    std::string text;  ///< the same for parts that are alike
  };

  /// The index outlives it.
  explicit LayoutSavings(const MatchIndex& index);

  /// Every node that may read a result of `a`, behind functions that layouts can pass: of other sites only those that
  /// hold one of them are worth asking about.
  std::set<int> behind(const Site& a) const;

  /// Nullopt where no such way leads from `a` to `b`.
  std::optional<Meeting> between(const Site& a, const Site& b) const;

  /// Bytes that layout operators need not write if both rewrites are applied, at each of the model's samples; `meeting`
  /// is between(a.site, b.site).
  std::vector<int64_t> bytes(const Rewrite& a, const Rewrite& b, const Meeting& meeting);

 private:
  bool passes(int node, Value operand) const;
  /// The bytes that layouts write if these are applied, at each sample.
  const std::vector<int64_t>& moved(const Meeting& meeting, const std::vector<const Rewrite*>& rewrites);

  const View& view_;
  const std::vector<Bindings>& samples_;
  const Uses& uses_;
  std::unordered_map<std::string, std::vector<int64_t>> known_;  ///< moved(), by what is alike
};

}  // namespace pet
