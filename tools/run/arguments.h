#pragma once

#include <string>
#include <vector>

#include "session/draw_inputs.h"
#include "tools/engine/own_engine.h"

namespace pet::run {

struct Arguments {
  std::string model;
  std::vector<std::string> inputs;  ///< "NAME=FILE", or "FILE" of the only input
  std::string outputFolder, json;
  std::vector<std::string> bind, shapes;  ///< "batch=8", "x=1x3x224x224"
  uint64_t seed = 0;
  int threads = 1, runs = 1;
  bool winograd = true, profile = false;
  tool::EngineChoice engine;
};

void declareArguments(CLI::App& app, Arguments& arguments);

/// What computes the programs of the model. Errors of openEngine(); kUsage: what does not go together.
Expected<tool::OwnEngine> engineOf(const Arguments& arguments);

/// What is drawn where no file is given. kUsage: not of these forms.
Expected<session::DrawOptions> drawOptions(const Arguments& arguments);

/// The values of --input by the model's names. kUsage: a name that the model has not or that comes twice, a file
/// without a name where there is more than one input; the errors of readNpy().
Expected<session::Feeds> readInputs(const Arguments& arguments, const std::vector<session::Port>& inputs);

}  // namespace pet::run
