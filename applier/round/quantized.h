#pragma once

#include <string>
#include <vector>

#include "applier/match/forms.h"
#include "applier/onnx/graph.h"
#include "applier/read/normalise.h"
#include "rules/rule_source.h"

namespace pet {

/// A place where a pattern would match if the model were not quantized.
struct QuantizedSite {
  std::string site;  ///< siteName()
  std::string pattern;
  std::string reason;  ///< of the kind kQuantized
};

/// All of them, those as well at which the pattern matches as it is. Empty where nothing is quantized. The errors of
/// `rules`.
Expected<std::vector<QuantizedSite>> quantizedSites(const Graph& graph,
                                                    const NormaliseOptions& options,
                                                    RuleSource& rules,
                                                    Forms& forms);

}  // namespace pet
