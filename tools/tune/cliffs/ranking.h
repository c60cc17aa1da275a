#pragma once

#include <map>
#include <vector>

#include "tools/tune/cliffs/survey.h"

namespace pet::tune {

/// A candidate that takes far longer than the roofline.
struct Cliff {
  size_t candidate = 0;
  double seconds = 0, roofline = 0;  ///< of one occurrence
  struct InModel {
    size_t count = 0;  ///< occurrences that no worse cliff has a node of
    double share = 0;  ///< of the model's time that all of them take
  };
  std::map<size_t, InModel> models;  ///< by model
  double lost = 0;                   ///< the shares of the models' times that are above the roofline, added up

  double times() const { return seconds / roofline; }
};

/// The worst `most` candidates that take at least `leastTimes` the roofline, by what they lose. Each node counts once,
/// to the worst of those that it is in. A group is listed only where it loses more than its operators do one by one.
std::vector<Cliff> worst(const Candidates& candidates, const Survey& survey, size_t most, double leastTimes);

}  // namespace pet::tune
