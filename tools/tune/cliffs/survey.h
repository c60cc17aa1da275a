#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/common/scratch.h"
#include "tools/tune/cliffs/candidates.h"
#include "tools/tune/cliffs/peaks.h"
#include "tools/tune/options.h"

namespace pet::tune {

/// What an engine said of a candidate, or of a model.
struct Timing {
  std::optional<double> seconds;  ///< without what any call takes
  std::string refusal;            ///< why there are none; empty: it was not asked
};

/// What was measured of models and of their candidates.
struct Survey {
  RunnerHello engine;
  Peaks peaks;
  std::vector<Timing> models;      ///< by model, whole
  std::vector<Timing> candidates;  ///< by candidate
  std::string runnerFailure;       ///< how the runner failed for good; empty: it did not
  size_t groupsLeft = 0;           ///< groups that were worth timing, and the budget or their number did not allow it

  /// The seconds of a model; where the engine refused it, of its operators one by one.
  double modelSeconds(const Candidates& candidates, size_t model) const;
  /// Seconds above the roofline that one occurrence takes; 0 where it was not timed.
  double lost(const Candidates& candidates, size_t candidate) const;
};

/// Times the models, each operator, and then those groups of operators that promise to be far from the roofline, the
/// most promising first, until the budget is spent. kRunner: the runner cannot be started or calibrated.
Expected<Survey> survey(const std::vector<Subject>& models,
                        const Candidates& candidates,
                        std::vector<std::string> runner,
                        const Options& o);

/// How a group has to differ from its operators one by one to say more than they do: by so much more above the
/// roofline.
inline constexpr double kSaysMore = 1.2;

}  // namespace pet::tune
