#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "applier/choose/policy.h"
#include "applier/match/find_sites.h"
#include "ir/machine.h"
#include "rules/cost.h"

namespace pet {

/// What rules cost on the device that is rewritten for.
struct Costs {
  /// At these values of the pattern's symbols, perhaps with a margin that is still to be found; kCheck, in words for
  /// people, where that is not known. Null: never known.
  std::function<Expected<CostEstimate>(const Rule&, const Bindings&)> at = nullptr;
  /// What a layout operator takes to write a byte.
  double layoutSecondsPerByte = 0;
  /// What one step takes of those that compute a size: a Shape, Gather, Mul or Concat of some numbers. Measured on ONNX
  /// Runtime (bench/size_chains.py).
  double sizeStepSeconds = 0.25e-6;
  /// Of the CPU's engine; 0: not known, or it is a GPU, on which the start of each operator counts.
  Rates rates = {};
  /// The same beside what a site is beside, where that is not two neighbours. Null: as between these.
  std::function<Expected<CostEstimate>(const Rule&, const Bindings&, const Surroundings&)> beside = nullptr;

  Expected<CostEstimate> of(const Rule& rule, const Site& site, const Bindings& shapes) const {
    return beside && site.beside != Surroundings{} ? beside(rule, shapes, site.beside) : at(rule, shapes);
  }
};

/// A rule that may be applied at a site: its class holds there.
struct SiteRule {
  Site site;
  const Rule* rule = nullptr;
  rewrite::Symbols symbols;         ///< the rule's
  int boxes = 0;                    ///< how many of the rule's boxes are not empty here, at the typical sizes
  std::vector<CostEstimate> costs;  ///< at each sample of the model's sizes; none where they are not known, under `all`
};

/// What rules cost at a sample of the model's sizes, or why they do not pay there.
using Gain = tl::expected<CostEstimate, Reason>;

/// Why rules do not pay at all samples, and at which sample that is so.
struct Loss {
  Reason reason;
  size_t sample = 0;
};

/// Of what was found at each sample what is the furthest from firing; nullopt: they pay at all of them. Where they gain
/// at some, the reason says at which.
std::optional<Loss> worstOf(const std::vector<Gain>& gains, const ModelSizes& sizes);

/// How many of a rule's boxes hold a position, where its symbols have these values.
int occupiedBoxes(const Rule& rule, const Bindings& symbols);

/// `rules`, those of a site's pattern, whose class holds there and that the policy wants. Without `all`, only rules
/// that may pay, at each of the samples of `sizes`: their cost is known, and is less than the pattern's if neighbours
/// spare them their layouts.
std::vector<SiteRule> candidatesAt(const Site& site,
                                   const ModelSizes& sizes,
                                   const std::vector<const Rule*>& rules,
                                   const Costs& costs,
                                   const Policy& policy,
                                   std::vector<Refusal>& refusals);

/// Of a cost at a site, the seconds that are not the pattern's, nor the replacement's, but of what these were timed
/// beside (sceneOf): most of them where they are cheap. A neighbour takes a product of kNeighbourChannels terms for
/// each element that it gives to the pattern or reads of it; ONNX Runtime, OpenVINO and our engine do these at some
/// three quarters of their rate (0.31 to 0.5 ns on a Zen 4).
double besideSeconds(const CostEstimate& cost, const Site& site, const Bindings& shapes, const Costs& costs);

/// Says in a reason what the rule would gain.
void enterGain(const CostEstimate& cost, Reason& reason);

/// "measured 0.98, no gain".
Reason noGain(const CostEstimate& cost);

/// A Layout of the program moves activations.
bool movesActivations(const Program& program);

}  // namespace pet
