#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/cuda/open_gpu.h"
#include "runtime/engines.h"
#include "session/draw_inputs.h"

namespace pet::run {

struct Arguments {
  std::string model;
  std::vector<std::string> inputs;  ///< "NAME=FILE", or "FILE" of the only input
  std::string outputFolder, json;
  std::vector<std::string> bind, shapes;  ///< "batch=8", "x=1x3x224x224"
  uint64_t seed = 0;
  int threads = 1, runs = 1;
  bool winograd = true;
  std::string device = "cpu", precision = "fp32";
  std::string plan;   ///< a GPU that need not be there, by its name or a file of its properties
  std::string cache;  ///< where plans are kept; "": the usual place, or for `plan` none
};

void declareArguments(CLI::App& app, Arguments& arguments);

/// What computes the programs of the model. kUsage: a device or a precision that there is not, or what is missing for
/// it.
struct Engine {
  Engines engines;
  std::string name, version;                       ///< "pet-onednn", "2.6.0"; "pet-cuda", the device
  std::shared_ptr<cuda::GpuDevice> gpu = nullptr;  ///< null: a processor
};
Expected<Engine> engineOf(const Arguments& arguments);

/// What is drawn where no file is given. kUsage: not of these forms.
Expected<session::DrawOptions> drawOptions(const Arguments& arguments);

/// The values of --input by the model's names. kUsage: a name that the model has not or that comes twice, a file
/// without a name where there is more than one input; the errors of readNpy().
Expected<session::Feeds> readInputs(const Arguments& arguments, const std::vector<session::Port>& inputs);

}  // namespace pet::run
