#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "applier/check/execution.h"
#include "applier/choose/applicable.h"
#include "applier/measure/site_timer.h"
#include "applier/onnx/model.h"
#include "applier/onnx/spill.h"
#include "applier/read/normalise.h"
#include "rules/rule_source.h"

namespace pet {

struct ApplyOptions {
  Policy policy;
  NormaliseOptions normalise;
  /// What is checked by execution. A dry run does without. kSites: the whole model as well where a site could not be
  /// checked by itself, or where how large results are counts (Numerics::ofOne).
  enum class Check { kNone, kSites, kFull };
  Check check = Check::kFull;
  uint64_t seed = 0;  ///< of the check's inputs
  /// Written into the metadata of a model in which a rule fired, with the names of the rules.
  Metadata metadata = {};
  ReportProgress progress = nullptr;
  /// Seconds since some moment, for the report's times.
  std::function<double()> clock = nullptr;
  /// The engine on which what was chosen is timed, at the sites and as a whole, and left out where it loses. Null: the
  /// costs alone decide.
  TimeModels time = nullptr;
  /// Writes the rewritten model to where it will be read from, and reads it again, for the check of the whole model:
  /// what is checked is what is written. Null: that is memory.
  std::function<Expected<Model>(const Model& rewritten)> writeAndRead = nullptr;
  /// Runs whole models in float for their check. Null: the reference does, in double as well, and takes far longer.
  FloatEngine engine = nullptr;
  /// Where new weights wait until they are written. Null: in memory.
  KeepBytes keep = nullptr;

  double now() const { return clock ? clock() : 0; }
};

/// A rule that was applied.
struct Fired {
  std::string site;  ///< the ONNX node; in a subgraph or function behind its path: "if1/then_branch/conv3"
  std::string rule;
  rewrite::Symbols shapes;     ///< the pattern's symbols
  Numerics numerics;           ///< what the rule says about rounding
  int boxes = 0;               ///< how many of the rule's boxes are not empty here, and so were corrected
  std::optional<double> gain;  ///< expected, at the typical sizes
  double margin = 1;           ///< above 1: the gain is that of other CPUs, which may differ here by this factor
  /// The same: what pattern and replacement take by themselves, this without what layouts save that meet a neighbour's.
  double patternSeconds = 0, replacementSeconds = 0;
  Extents output = {};  ///< of the pattern's first result, at the typical sizes
  /// The boxes, as positions of that result; empty where they are not boxes of its dimensions.
  std::vector<PositionBox> corrected = {};
  bool guessed = false;  ///< the gain is a guess: nothing like it was timed
  std::vector<std::string> values =
      {};  ///< that the rule asks of the model's constants, which have them: valuesAsked()
};

/// A rule, or all rules of a pattern, that were not applied.
struct Refused {
  std::string site;
  std::string pattern, rule;  ///< `rule` is empty where none could
  Reason reason;
};

/// A node that is outside of the view: it was not looked into.
struct Untouched {
  std::string node, type;
  std::string reason;
};

/// What one round of rewriting decided and did.
/// A graph as a round read it.
struct ReadGraph {
  std::string path;  ///< Place::path
  std::vector<std::string> outputs;
  std::shared_ptr<const Normalised> normalised;
};

struct Round {
  Graph graph;
  std::map<std::string, ReadGraph> read;  ///< all graphs that were looked into, by Place::key
  std::vector<Fired> fired;
  std::vector<Refused> refused;
  std::vector<Untouched> untouched;
  SiteChecks checks;
  double checkSeconds = 0;
  std::vector<Bindings> sizes;              ///< at which gains were judged
  std::set<std::string> places;             ///< Place::key of the graphs in which something fired
  size_t matched = 0;                       ///< sites of patterns
  bool canBeMined = false;                  ///< see ApplyReport
  std::vector<std::string> contradictions;  ///< what the file declares and cannot be
  /// What a run takes, as it was (choose/model_seconds.h): no less than the patterns of what fired. Nullopt: not known
  /// of some graph, or not asked for, under `all`.
  std::optional<double> seconds = std::nullopt;
};

/// Finds the sites of all patterns in a model's graphs, chooses among the rules, rewrites, cleans up. Subgraphs are
/// rewritten within, and functions whose calls agree. Nothing fired: the graph is as it was. kCheck: a site's check
/// failed. Of `rules` only patterns are asked for that may have a site, and the rules of those that have one; `forms`
/// are those of these patterns, for all rounds.
Expected<Round> rewriteOnce(const Model& model,
                            RuleSource& rules,
                            Forms& forms,
                            const Costs& costs,
                            const ApplyOptions& options,
                            SiteTimer& timer);

}  // namespace pet
