#pragma once

#include <vector>

#include "runtime/cuda/planner.h"
#include "runtime/plan/memory.h"

namespace pet::cuda {

/// On which streams of a device the steps of a plan run. Each is queued when its turn in the plan comes.
struct Streams {
  struct Turn {
    int stream = 0;
    std::vector<int> awaited;  ///< steps of other streams; what these waited for is not among them
    bool isAwaited = false;    ///< by a step, or by the end
  };
  std::vector<Turn> turns;     ///< per step
  std::vector<int> atEnd;      ///< the steps that the end waits for
  std::vector<During> during;  ///< per step, for Memory

  /// Some step is not on stream 0.
  bool fork() const;
};

/// All on stream 0.
Streams inTurn(const Planner& planner);

/// Steps that too few threads compute to fill the device run beside others, where neither needs the other. Of the steps
/// that need a step's result, the one behind which the longest way to the end begins goes on in its stream, and the
/// others go to streams that are idle then. What fills the device is on stream 0.
Streams sideBySide(const Planner& planner);

/// Queues all steps; stream 0 then waits for all.
void runOn(Device& device, const Planner& planner, const Streams& streams);

}  // namespace pet::cuda
