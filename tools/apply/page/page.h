#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "applier/apply.h"

namespace pet::tool {

/// What the page of a run shows.
struct PageContent {
  std::string title;     ///< of the page: the model's file
  std::string headline;  ///< what came out, in one sentence
  const Graph& before;
  const Graph& after;  ///< as they would be written
  const ApplyReport& report;
  std::map<std::string, std::string> statements;         ///< of the rules that fired: their text without the proof
  std::string proof;                                     ///< what is known of these rules' proofs, for people
  std::vector<std::pair<std::string, std::string>> run;  ///< what else is to be said: version, options, …
  bool freezeInputs = false;
  double minGain = 1;  ///< for which a rule would have fired
};

/// A report as one HTML page that needs nothing else: both models drawn with their sites, what each rule did and where
/// it corrects the output, what was refused, what was checked. The same bytes for the same content; at most 2 MB, for
/// of large models only the neighbourhood of sites is drawn.
std::string pageOf(const PageContent& content);
/// What the page shows, and nothing else, as JSON (docs/command-line.md, The page).
std::string pageData(const PageContent& content);

}  // namespace pet::tool
