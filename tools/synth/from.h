#pragma once

#include <string>
#include <vector>

#include "ir/progress.h"
#include "synth/search/search.h"

// Patterns out of a user's own models.
namespace pet::tool {

struct FromArguments {
  std::vector<std::string> models;  ///< files, and folders that have some
  size_t size = 3;                  ///< operators of a pattern, at most
  size_t most = 200;                ///< patterns, at most
  std::string patternsTo;
};

/// What became of the subgraphs of all models.
struct FromCounts {
  size_t subgraphs = 0, distinct = 0;
  size_t patterns = 0;        ///< of these:
  size_t known = 0;           ///< instances of known patterns
  size_t unsearched = 0;      ///< there is nothing to search for them
  size_t searched = 0;        ///< new ones
  size_t leftOut = 0;         ///< new ones beyond `most`
  size_t withoutPattern = 0;  ///< reasons for which subgraphs gave none
};

struct FromModels {
  std::vector<Pattern> patterns;  ///< new ones that a search can be made for, the most frequent ones
  FromCounts counts;
  std::string report;  ///< the same for people, with names
};

/// The patterns of the models that `known` does not have. `verbose`: the report lists all of them. Errors: no model, a
/// broken one, one without an operator that is known.
Expected<FromModels> minePatterns(const FromArguments& arguments,
                                  const std::vector<Pattern>& known,
                                  const JudgeOptions& options,
                                  bool verbose,
                                  const ReportProgress& show);

/// Each pattern as NAME.pet in a folder, which is made where there is none.
Expected<void> writePatterns(const std::vector<Pattern>& patterns, const std::string& folder);

}  // namespace pet::tool
