#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "applier/replace/instantiate.h"
#include "applier/view/new_weights.h"
#include "runtime/compare.h"

namespace pet {

/// What a check compared and what came out, for people.
struct CheckLine {
  std::string where, scope;
  bool possible = true;
  std::string reason;  ///< why it was not possible; empty where it holds
  double worst = 0;    ///< the largest difference, in units of the largest that is allowed
};

struct SiteCheckOptions {
  uint64_t seed = 0;
  ReportProgress progress = nullptr;
  /// Whole models: the error that is allowed besides what rounding explains, relative to an output's largest value.
  double floor = 0x1p-20;  // 16 units of float
  /// Runs sites and whole models in float, which mostly decides. Null: the reference runs all.
  FloatEngine engine = nullptr;
  /// The rules round no more than the original does, of whatever type: float may decide about 16 bits as well.
  bool sameRounding = false;
};

/// A site that nothing could be compared at: only the whole model can speak for it.
struct UncheckedSite {
  std::string label, rule;
  std::string reason;
};

struct SiteChecks {
  std::vector<CheckLine> lines;
  std::vector<UncheckedSite> unchecked;
};

/// What was compared of a rule once for all sites of some shapes.
struct Probed {
  std::optional<std::string> whyNot = {};  ///< why integers could not be compared; nullopt where they were
  /// Within the running bound in double, of random weights: at a member of the class that is smaller than the shapes.
  bool inDouble = false;
  /// Float may decide about the model's weights: what it cannot see was compared.
  bool suffices() const { return !whyNot || inDouble; }
};

/// What was checked of rules already, in other graphs of a model, say.
struct CheckedRules {
  std::set<std::string> names;                                   ///< at small shapes
  std::map<std::pair<std::string, std::string>, Probed> probed;  ///< by rule and shapes
  std::map<std::pair<std::string, Bindings>, Probed> alike;      ///< by rule and member that stands for shapes
};

/// Runs pattern and replacement of every site. Once per rule and shapes: integer probes, which must be equal, and
/// activations of all magnitudes, at these shapes where they are small, else at a member of the rule's class that is
/// like them, and one integer probe at the shapes themselves; where integers cannot be compared, random weights at that
/// member within the running bound. For each site: the model's own weights, in float where that was done and decides,
/// else within the running bound. Once per rule, activations of all
/// magnitudes at small shapes of its class. kCheck, with the site and the rule, where one fails. A site where neither
/// integers nor the model's weights could be compared is unchecked.
/// The view and the rewrites have no symbols: see boundTo(). What replacements make of the model's weights in float is
/// entered into `weights`.
Expected<SiteChecks> checkSites(const View& view,
                                const std::vector<Rewrite>& rewrites,
                                const SiteCheckOptions& options,
                                CheckedRules& checked,
                                NewWeights& weights);

/// Runs the views of both graphs as wholes, cut where pet does not know an operator: the values that go in there and
/// come out of there are the same in both. What nothing needs in the rewritten one is left out, if it is none of
/// `results`, the graph's own outputs. `sizes`: of the extents that the original leaves open. kCheck where the
/// rewritten graph's error is above the stated multiple of the original's.
Expected<CheckLine> checkWhole(const View& before,
                               const View& after,
                               const std::vector<std::string>& results,
                               const Bindings& sizes,
                               const SiteCheckOptions& options);

}  // namespace pet
