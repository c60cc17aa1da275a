#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "applier/check/execution.h"
#include "applier/choose/applicable.h"
#include "applier/measure/turns.h"
#include "applier/onnx/model.h"
#include "applier/onnx/spill.h"
#include "applier/read/normalise.h"

namespace pet {

struct ApplyOptions {
  Policy policy;
  NormaliseOptions normalise;
  /// What is checked by execution. A dry run does without. kSites: the whole model as well where a site could not be
  /// checked by itself.
  enum class Check { kNone, kSites, kFull };
  Check check = Check::kFull;
  uint64_t seed = 0;  ///< of the check's inputs
  /// Called with what is being done, for people.
  std::function<void(const std::string& what)> progress = nullptr;
  /// Seconds since some moment, for the report's times.
  std::function<double()> clock = nullptr;
  /// The engine on which what was chosen is timed, at the sites and as a whole, and left out where it loses. Null: the
  /// costs alone decide.
  TimeModels time = nullptr;
  /// Writes the rewritten model to where it will be read from, and reads it again, for the check of the whole model:
  /// what is checked is what is written. Null: that is memory.
  std::function<Expected<Model>(const Model& rewritten)> writeAndRead = nullptr;
  /// Where new weights wait until they are written. Null: in memory.
  KeepBytes keep = nullptr;

  double now() const { return clock ? clock() : 0; }
};

/// A rule that was applied.
struct Fired {
  std::string site;  ///< the ONNX node
  std::string rule;
  rewrite::Symbols shapes;     ///< the pattern's symbols
  Numerics numerics;           ///< what the rule says about rounding
  int boxes = 0;               ///< how many of the rule's boxes are not empty here, and so were corrected
  std::optional<double> gain;  ///< expected, at the typical sizes
};

/// A rule, or all rules of a pattern, that were not applied.
struct Refused {
  std::string site;
  std::string pattern, rule;  ///< `rule` is empty where none could
  std::string reason;
};

/// A node that is outside of the view: it was not looked into.
struct Untouched {
  std::string node, type;
  std::string reason;
};

struct ApplyReport {
  std::vector<Fired> fired;
  std::vector<Refused> refused;
  std::vector<Untouched> untouched;  ///< of the original model
  std::vector<CheckLine> checks;
  std::vector<UncheckedSite> unchecked;  ///< sites for which the check of the whole model stands
  std::vector<Measured> measured;        ///< with ApplyOptions::time: sites, then the whole model
  size_t nodesBefore = 0, nodesAfter = 0;
  int64_t constantsBefore = 0, constantsAfter = 0;  ///< bytes of initializers
  size_t overridable = 0;  ///< initializers that are no constants because a caller may replace them
  int rounds = 0;
  std::vector<Bindings> sizes;  ///< at which gains were judged, where the model leaves extents open
  double rewriteSeconds = 0, checkSeconds = 0;
};

struct Applied {
  Model model;  ///< the original where nothing fired
  ApplyReport report;
};

/// Rewrites a model with a set of rules (docs/applier.md). No search: every site of every pattern is found, one rule is
/// chosen for each, and the result is checked by execution. kCheck: a check failed, with the site and the rule; or
/// nothing could be compared, neither at a site nor of the whole model.
Expected<Applied> apply(const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options);

}  // namespace pet
