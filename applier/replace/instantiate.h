#pragma once

#include <string>
#include <vector>

#include "applier/match/find_sites.h"
#include "rules/cost.h"

namespace pet {

/// The most values of one tensor of weights that a rule may make.
inline constexpr int64_t kMostWeights = int64_t{1} << 26;

/// A rule at a site, with its symbols replaced by the model's extents.
struct Rewrite {
  Site site;
  const Rule* rule = nullptr;
  rewrite::Symbols symbols;          ///< the rule's
  Program pattern;                   ///< what stands there
  Program replacement;               ///< what is to stand there, as it was proved
  std::string label;                 ///< "pet/<rule>/<site>", the stem of the new names
  std::optional<CostEstimate> cost;  ///< what is expected, at the typical sizes
  /// Nodes that compute sizes for it when the model runs, which the rule's cost does not know of.
  size_t sizeSteps = 0;
};

/// Substitutes a rule's symbols. kCheck: an extent that may not be empty is; two results are one value, or one is an
/// operand; weights of more than kMostWeights, or whose size the model leaves open.
Expected<Rewrite> instantiate(const Site& site,
                              const Rule& rule,
                              const rewrite::Symbols& symbols,
                              const std::string& siteName);

/// The same where the model's open extents have these sizes.
Rewrite boundTo(const Rewrite& rewrite, const Bindings& sizes);

/// How many values the weights have that a replacement makes of the pattern's.
int64_t newWeights(const Program& replacement);

/// Elements of the constants that a program's operators on activations read: what a model stores of it.
int64_t weightElements(const Program& program);

}  // namespace pet
