#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/watch.h"

namespace pet::bench {

/// What was found.
struct Report {
  RunnerHello engine;
  Figures whole;
  std::vector<SiteRow> sites;
};

std::string headline(const RunnerHello& engine, const Options& o);
/// The models as a whole.
std::string wholeTable(const Figures& whole);
/// One line for each site.
std::string siteTable(const std::vector<SiteRow>& sites);
std::string json(const Report& report, const Options& o);

}  // namespace pet::bench
