#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "applier/infer/infer.h"
#include "applier/measure/turns.h"
#include "applier/onnx/model.h"
#include "applier/replace/instantiate.h"

namespace pet {

/// Times rewrites of a model where they are: between their neighbours. Where the model leaves sizes open, at the least,
/// the typical and the largest of its samples. The same rules at the same shapes are timed once.
class SiteTimer {
 public:
  /// `time` may be null: nothing is timed then, and there are no objections.
  SiteTimer(TimeModels time, double minGain) : time_(std::move(time)), minGain_(minGain) {}

  /// Why these rewrites, whose layouts meet, do not pay on the engine at one of the sizes, or could not be timed;
  /// nullopt where they pay at all of them.
  /// `types`: of the graph's values.
  std::optional<Reason> objection(const Model& model,
                                  const InferredTypes& types,
                                  const MatchIndex& index,
                                  const std::vector<const Rewrite*>& rewrites);
  const std::vector<Measured>& lines() const { return lines_; }

 private:
  /// The same at these sizes, which the reason does not say.
  std::optional<Reason> timedAt(const Model& model,
                                const InferredTypes& types,
                                const MatchIndex& index,
                                const std::vector<const Rewrite*>& rewrites,
                                const Bindings& sizes);

  TimeModels time_;
  double minGain_;
  std::map<std::string, std::optional<Reason>> known_;
  std::vector<Measured> lines_;
};

}  // namespace pet
