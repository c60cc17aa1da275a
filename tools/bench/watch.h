#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/client.h"
#include "tools/bench/figures.h"
#include "tools/bench/options.h"
#include "tools/bench/sites.h"
#include "tools/common/scratch.h"

namespace pet::bench {

/// A place where the models differ.
struct SiteRow {
  Change change;
  std::string name;
  std::vector<std::string> nodes;                  ///< of the original
  std::optional<Figures> context = {}, bare = {};  ///< with and without its neighbours
  std::string note = {};                           ///< why it could not be timed, or what is odd

  /// In context, where there is one.
  const std::optional<Figures>& figures() const { return context ? context : bare; }
};

/// Times models on a runner.
class Watch {
 public:
  Watch(const Options& o, RunnerKeeper& runner) : o_(o), runner_(runner), folder_("pet-bench", o.keep) {}

  /// The model against itself, and against what was made of it, if that is not empty; for so long.
  RunnerExpected<Figures> files(const std::string& original, const std::string& rewritten, double seconds);
  /// In its context, and then alone, if there is time left. What cannot be timed is a row that says why; an error is
  /// one that would befall every site.
  Expected<SiteRow> site(const Sites& sites, const Change& change, double seconds);

 private:
  Expected<std::optional<Figures>> cut(const Sites& sites, SiteRow& row, bool inContext, double seconds);

  const Options& o_;
  RunnerKeeper& runner_;
  tool::Scratch folder_;
  int count_ = 0;
};

}  // namespace pet::bench
