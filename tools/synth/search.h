#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "synth/scale/identity.h"
#include "synth/search/search.h"
#include "tools/synth/from.h"

namespace CLI {
class App;
}

// The search as a command: patterns -> units -> outcomes -> rules -> pack, or a part of one.
namespace pet::tool {

struct SearchArguments {
  std::vector<std::string> patterns;
  std::string patternFolder, output, report, explain, checkpoint, shardText = "1/1", budgetText;
  int depth = 4, threads = 0;
  bool quiet = false, verbose = false, resume = false, check = true;
  FromArguments from;
};

void declareSearch(CLI::App& app, SearchArguments& arguments);

/// Who runs the units: the threads of this process, or other processes.
struct Processes {
  UnitRunner run = runHere;
  size_t ranks = 1;
};

Expected<void> search(const SearchArguments& arguments, const Processes& processes);

struct OpenedSearch {
  Search search;
  std::string mined;  ///< what the models gave, for people; empty where there are none
  std::optional<FromCounts> from;
};
/// The search of the arguments, without a look at where its results are to go.
Expected<OpenedSearch> openSearch(const SearchArguments& arguments);

}  // namespace pet::tool
