#pragma once

#include <optional>
#include <string>
#include <vector>

#include "applier/choose/policy.h"
#include "tools/apply/sizes.h"

namespace CLI {
class App;
}

namespace pet::tool {

/// What pet-apply was asked for.
struct ApplyArguments {
  std::string model, pack, output, timings, moreTimings, machine, json, report, explain;
  std::string device = "ort-cpu", check = "full", numerics = "bounded";
  std::vector<std::string> only, skip, sites;
  std::string python, runner, cache, checker;
  bool trustPack = false, types = false, keepInvalid = false;
  SizeTexts sizes;
  bool all = false, dryRun = false, freezeInputs = false, verbose = false, quiet = false, measure = false,
       guess = false;
  int threads = 1;
  double minGain = Policy().minGain;
  double budget = 60;  ///< seconds
  std::optional<double> maxGrowth;
  std::string seed = "0";  ///< a number of 64 bits
  std::vector<std::string> maxRelativeError;
};

/// Declares them.
void declareArguments(CLI::App& app, ApplyArguments& o);

/// The words of a command line, where `--expect batch=1,8 seq=128..512` is one --expect for each of the sizes.
std::vector<std::string> apartExpected(int argc, char** argv);

}  // namespace pet::tool
