#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/model_session.h"
#include "tools/run/arguments.h"

namespace pet::run {

struct OutputLine {
  session::Port port;
  Constant value;
  std::string file;  ///< "" where it was not written
};

/// What a run did.
struct RunReport {
  std::string engine, version;
  session::Feeds inputs;
  std::vector<std::string> drawn;  ///< inputs that no file gave
  std::vector<OutputLine> outputs;
  double loadSeconds = 0;          ///< reading, and planning where the model's extents are known
  std::vector<double> runSeconds;  ///< of each run; the first one plans where the model leaves extents open
  std::vector<EngineNote> notes;
  std::vector<StepTime> steps;            ///< with --profile
  std::optional<cuda::PlanCounts> plans;  ///< of a GPU
  int64_t arenaBytes = 0;                 ///< of all intermediate values of the programs
  int64_t peakBytes = 0;                  ///< of the process, at its peak
};

std::string tables(const RunReport& report, const Arguments& arguments);
/// docs/command-line.md, pet-run.
std::string json(const RunReport& report, const Arguments& arguments);

}  // namespace pet::run
