#pragma once

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/expr.h"
#include "ir/machine.h"

namespace pet {

/// In which models rules are timed, where nothing else is said.
inline constexpr int kUsualOpset = 17;

/// What one rule gained at one choice of shapes on one device: pattern and replacement timed in turns, in one process.
struct TimingSample {
  std::string rule;          ///< its hash (ruleHash)
  std::string name;          ///< its name, for people
  std::string device;        ///< e.g. "ort-cpu"
  Bindings shapes;           ///< the pattern's symbols
  std::string engine;        ///< e.g. "onnxruntime"
  std::string version;       ///< the engine's
  std::string isa;           ///< e.g. "avx512"
  std::string machine = "";  ///< a name in the timings' machines; "": not known, of an older pet
  int threads = 1;
  double pattern = 0;      ///< median seconds
  double replacement = 0;  ///< median seconds
  double spread = 0;       ///< of an interval that holds the ratio, the width over the ratio
  std::string date;        ///< "2026-11-21"
  /// Of the replacement, seconds of the layout operators that begin at its activations and end at its outputs, each
  /// chain alone, from input to output; 0: there are none, or they were not timed.
  double opening = 0, closing = 0;
  int64_t moved = 0;             ///< bytes that these operators move; 0: not known, or none
  std::string weights = "cold";  ///< where they came from: memory ("cold") or the caches ("warm")
  /// What was beside the pattern: two neighbours ("between"), or others (Surroundings::place).
  std::string place = "between";
  int opset = kUsualOpset;  ///< of the models that were timed: engines have other kernels for some operators of another

  /// By the same engine on the same machine, with as many threads and weights from the same place.
  bool isOfSameSetting(const TimingSample& o) const {
    return engine == o.engine && version == o.version && machine == o.machine && threads == o.threads &&
           weights == o.weights;
  }
  /// How many times faster the replacement is.
  double ratio() const { return pattern / replacement; }
  /// What the logarithm of the ratio may be off by.
  double noise() const { return std::log1p(spread / 2); }
  /// It gains as much, but not beyond noise.
  bool isUnsure(double minGain) const { return ratio() >= minGain && ratio() * std::exp(-noise()) < minGain; }
  friend bool operator==(const TimingSample&, const TimingSample&) = default;
};

/// Of a sample, what the layout operators took that begin or end its replacement.
struct LayoutSample {
  double seconds = 0;
  int64_t bytes = 0;
  int threads = 1;
  std::string weights;
  std::string isa = "", machine = "";
};

/// Of the opsets at which something was timed, the one that tells of a model: the nearest at most the model's; where
/// all are later, the first. `timed` is not empty.
int nearestOpset(const std::set<int>& timed, int64_t opset);

/// Machines by name.
using Machines = std::map<std::string, Machine, std::less<>>;

/// A set of samples, and the machines that they are of. There is one for each rule, device, shapes, engine, version,
/// ISA, machine, number of threads, state of the weights, place and opset.
class Timings {
 public:
  /// Adds a sample, in place of an earlier one of the same setting.
  void add(TimingSample sample);
  /// Adds a machine, in place of an earlier one of the same name; what the earlier one knows of rates in other settings
  /// stays.
  void add(Machine machine);
  /// Adds all of another set's samples and machines.
  void merge(const Timings& other);

  bool empty() const { return samples_.empty(); }
  size_t size() const { return samples_.size(); }
  /// Sorted by rule's name, hash, device, shapes and so on.
  std::vector<TimingSample> all() const;
  /// The samples of a rule on a device.
  std::vector<TimingSample> samples(std::string_view ruleHash, std::string_view device) const;
  /// Of all samples on a device that know how many bytes were moved.
  std::vector<LayoutSample> layouts(std::string_view device) const;
  const Machines& machines() const { return machines_; }

  friend bool operator==(const Timings&, const Timings&) = default;

 private:
  std::map<std::vector<std::string>, TimingSample> samples_;  ///< by setting
  Machines machines_;
};

/// Text form: JSON lines, machines, what many samples have in common (their settings and rules), then one sample a
/// line, sorted; shipped and compared by people. The same for the same samples.
std::string print(const Timings& timings);
/// Errors: kPack, with file:line.
Expected<Timings> parseTimings(std::string_view text, const std::string& file);

/// Which rule a sample is of.
struct NamedRule {
  std::string hash;                  ///< ruleHash
  std::string name;                  ///< for people
  std::vector<std::string> symbols;  ///< of the pattern, in the order in which samples have their extents
  friend bool operator==(const NamedRule&, const NamedRule&) = default;
};

/// What lines of the text form say once for many samples, by the names that these have for it.
struct TimingNames {
  template <class T>
  using By = std::map<std::string, T, std::less<>>;
  By<TimingSample> settings;  ///< samples that have nothing else
  By<NamedRule> rules;
};

/// What something was timed on.
struct TimedEngine {
  std::string device, engine, version;
  friend auto operator<=>(const TimedEngine&, const TimedEngine&) = default;
};

/// Reads either form, by its first bytes. Errors as for readPack.
Expected<Timings> readTimings(const std::string& path);
/// The same from memory; `name` stands in errors for the path.
Expected<Timings> readTimingsBytes(std::string_view bytes, const std::string& name);
/// A file of timings that is open: of the text form, lines are parsed when their rule is asked for. A line that is not
/// as print() writes it is parsed at once. Errors as for readTimings(); of a line, kPack with file:line.
class OpenTimings {
 public:
  /// No timings.
  OpenTimings() = default;
  OpenTimings(OpenTimings&&) = default;
  OpenTimings& operator=(OpenTimings&&) = default;
  static Expected<OpenTimings> open(const std::string& path);
  static Expected<OpenTimings> openBytes(std::string bytes, const std::string& name);
  /// Those of several files of any form; of one setting the sample of the last one counts. All but the first are parsed
  /// at once. None: no timings.
  static Expected<OpenTimings> openAll(const std::vector<std::string>& paths);

  Expected<std::vector<TimingSample>> samples(const std::string& ruleHash, const std::string& device) const;
  Expected<std::vector<LayoutSample>> layouts(const std::string& device) const;
  /// Of which there are samples.
  Expected<std::set<TimedEngine>> engines() const;
  Expected<std::set<std::string>> devices() const;
  const Machines& machines() const { return database_.machines(); }

 private:
  struct Line {
    size_t begin = 0, size = 0;
    int number = 0;
    const TimingSample* setting = nullptr;  ///< of names_; null: the line is not as print() writes it
  };
  Expected<void> enter(std::string_view line, int number);
  std::vector<Line>& linesOf(std::string_view rule);
  std::string_view textOf(const Line& line) const;
  Expected<TimingSample> sampleOf(const Line& line) const;

  std::string name_, text_;
  TimingNames names_;
  std::map<std::string, std::vector<Line>, std::less<>> lines_;  ///< by the rule's hash
  Timings database_;                                             ///< of the other form; of the text form, the machines
};

/// Writes SQLite (docs/pack-format.md), or text where the path ends in ".jsonl". Beside, then renamed.
Expected<void> writeTimings(const Timings& timings, const std::string& path);

}  // namespace pet
