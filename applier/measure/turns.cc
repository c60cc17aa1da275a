#include "applier/measure/turns.h"

#include <algorithm>

#include "ir/quantile.h"
#include "rules/rewrite/symbols.h"

namespace pet {

std::string timedAtText(const Bindings& sizes) {
  return sizes.empty() ? "" : ", at " + rewrite::str(rewrite::symbolsOf(sizes));
}

Measured compareTurns(std::string what,
                      const std::vector<double>& original,
                      const std::vector<double>& rewritten,
                      double least) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(original.size(), rewritten.size()); ++i)
    ratios.push_back(original[i] / rewritten[i]);
  if (ratios.empty()) return {std::move(what), 1, 1, 1, false};
  Measured m{std::move(what), median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)};
  m.pays = m.ratio >= least && quantile(ratios, 0.2) >= 1;
  return m;
}

}  // namespace pet
