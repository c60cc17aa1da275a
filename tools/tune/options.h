#pragma once

#include <string>
#include <vector>

namespace pet::tune {

/// What pet-tune was asked for.
struct Options {
  std::string pack, output, device = "ort-cpu", shapes, points, python, runner, keep;
  std::string show;              ///< a file of timings: what it says is printed, nothing is timed
  std::vector<std::string> add;  ///< files of timings: they are added to the output, nothing is timed
  std::string machine;           ///< for which it is said
  std::vector<std::string> rules{"*"}, models;
  double minGain = 1.05;  ///< what rules are to reach: near it, points are worth their time
  double budget = 1200, secondsPerPoint = 1, timeout = 60, maxWork = 8e9;
  int runs = 12, threads = 1;
  bool quiet = false;  ///< neither progress nor tables
  bool warm = false, processorTime = false, noBare = false, exhaustive = false;
  bool calibrate = false, noCalibrate = false, deriveRates = false;
  /// Samples that the output has are taken again: at these shapes all, else those that are unsure.
  bool retake = false;

  // Of --cliffs.
  std::vector<std::string> cliffs;  ///< models whose operators are compared with the roofline; no pack is needed
  std::string write, json;
  size_t most = 20, size = 4;
  double minTimes = 2;  ///< the roofline: what takes less is not listed
};

/// TimingSample::weights
inline std::string weightsAre(const Options& o) {
  return o.warm ? "warm" : "cold";
}

}  // namespace pet::tune
