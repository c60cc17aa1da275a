#pragma once

#include <optional>
#include <string>
#include <vector>

#include "applier/onnx/model.h"
#include "applier/round/round.h"
#include "ir/machine.h"

namespace pet {

/// What was done about the proof records of the rules that fired.
enum class RecordsChecked {
  kNot,       ///< nothing fired, a dry run, or a pack that the user trusts
  kNow,       ///< by the checker, before anything was written
  kWithTool,  ///< the default pack's were checked when it was made
};

/// The name by which `skip` keeps guards of rows that need none.
inline constexpr std::string_view kRowGuards = "row-guards";

/// What --measure did about rules that fit, but were not timed at sizes like the model's.
struct UntunedTimed {
  size_t points = 0, timed = 0;  ///< of rules at shapes; how many of them were timed
  std::string file = "";         ///< where that is kept
  std::string problem = "";      ///< why there are not more, but for the budget
};

struct ApplyReport {
  std::vector<Fired> fired;
  std::vector<std::string> leftOut;  ///< nodes that guarded rows which need no guard (applier/read/row_guards.h)
  std::vector<Refused> refused;
  std::vector<Untouched> untouched;  ///< of the original model
  std::vector<CheckLine> checks;
  std::vector<UncheckedSite> unchecked;  ///< sites for which the check of the whole model stands
  std::vector<Measured> measured;        ///< with ApplyOptions::time: sites, then the whole model
  size_t nodesBefore = 0, nodesAfter = 0;
  int64_t constantsBefore = 0, constantsAfter = 0;  ///< bytes of initializers
  /// What is odd about the file and no error: an opset that is newer than pet, declarations that cannot be, operators
  /// that pet does not know.
  std::vector<std::string> warnings;
  size_t overridable = 0;  ///< initializers that are no constants because a caller may replace them
  int rounds = 0;
  std::vector<Bindings> sizes;  ///< at which gains were judged, where the model leaves extents open
  double rewriteSeconds = 0, checkSeconds = 0;
  std::vector<std::string> written;  ///< the model and its data file; apply() itself writes none
  double seconds = 0;                ///< of all that was done, with reading and writing; apply() itself does not know
  /// What a run of the original is estimated to take on the device (nullopt: not known), and what is saved of it, which
  /// is less.
  std::optional<double> runSeconds;
  double savedSeconds = 0;
  Metadata metadata = {};  ///< what a rewritten model says
  size_t matched = 0;      ///< sites of patterns in the original
  /// The main graph has operators that pet knows, and sizes at which it runs: it has patterns that can be searched.
  bool canBeMined = false;
  RecordsChecked records = RecordsChecked::kNot;  ///< apply() itself has no checker: its caller has
  /// The machine that is rewritten for, and whether some timing is of it: apply() only knows costs, its caller knows.
  Machine machine = {};
  bool isMachineTimed = false;
  bool isDeviceTuned = true;               ///< false: nothing at all was timed on the device; as above
  std::vector<std::string> versions = {};  ///< of the device's engine, that something was timed on; as above
  std::optional<UntunedTimed> untuned = std::nullopt;  ///< as above
};

struct Applied {
  Model model;  ///< the original where nothing fired or was left out
  ApplyReport report;
  bool isWritten = false;  ///< the model is what ApplyOptions::writeAndRead wrote last
};

/// Rewrites a model with the rules of a source (docs/applier.md). No search: every site of every pattern is found, one
/// rule is chosen for each, and the result is checked by execution. kCheck: a check failed, with the site and the rule;
/// or nothing could be compared, neither at a site nor of the whole model. The source's errors.
Expected<Applied> apply(const Model& model, RuleSource& rules, const Costs& costs, const ApplyOptions& options);
/// The same with a set of rules.
Expected<Applied> apply(const Model& model, const RuleSet& rules, const Costs& costs, const ApplyOptions& options);

}  // namespace pet
