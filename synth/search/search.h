#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/progress.h"
#include "synth/judge/pipeline.h"
#include "synth/search/outcome.h"

namespace pet {

/// All units of a search, numbered: by pattern, generator and unit of the generator. Of equal programs of one pattern
/// the first in this order is kept (reduce()). See docs/architecture.md, At scale.
class Search {
 public:
  /// Patterns of different names, in any order. `progress` may be null. Error, before any search: a pattern that no
  /// generator takes.
  static Expected<Search> create(std::vector<Pattern> patterns,
                                 const JudgeOptions& options,
                                 const ReportShare& progress = nullptr);

  const std::vector<Pattern>& patterns() const { return patterns_; }  ///< sorted by name
  const JudgeOptions& options() const { return options_; }
  size_t size() const { return units_.size(); }
  /// "conv/n.in2-outer1_conv".
  std::string name(size_t unit) const;
  Source source(size_t unit) const { return generators_[units_[unit].generator]->source(); }
  /// Thread-safe.
  UnitOutcome run(size_t unit) const;
  /// Why a pattern has no plans; "" if it has some, or none are looked for.
  std::string whyEmpty(std::string_view pattern) const;

 private:
  struct Place {
    size_t generator, unit;
  };
  Expected<void> addGenerators(const Pattern& pattern);
  std::vector<Pattern> patterns_;
  JudgeOptions options_;
  std::vector<std::unique_ptr<Generator>> generators_;  ///< by pattern, in the order of Source
  std::vector<Place> units_;
};

/// How units are run. `stop` is asked before each; when it answers true, no further unit is begun.
struct RunOptions {
  int threads = 0;  ///< 0: all
  std::function<bool()> stop = {};
};

/// Takes an outcome; called from any thread, but never from two at once. An error ends the run.
using Sink = std::function<Expected<void>(UnitOutcome)>;

/// Runs units, each once, and hands every outcome to the sink as soon as it is there. Errors: the sink's.
using UnitRunner = std::function<Expected<void>(
    const Search&, const std::vector<size_t>& units, const RunOptions& options, const Sink& sink)>;

/// The UnitRunner that uses the threads of this process.
Expected<void> runHere(const Search& search,
                       const std::vector<size_t>& units,
                       const RunOptions& options,
                       const Sink& sink);

}  // namespace pet
