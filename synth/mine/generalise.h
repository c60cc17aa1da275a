#pragma once

#include "rules/rule.h"
#include "synth/mine/demands.h"

namespace pet::mine {

/// A subgraph of a model as a pattern.
struct General {
  Pattern pattern;                  ///< named after its operators, see patternName()
  Bindings values;                  ///< of its symbols, in the model
  std::vector<std::string> pinned;  ///< extents that kept their numbers because they could not become symbols
};

/// The program of numbers (as cut() makes it) with symbols for its extents: batch, channels, spatial extents, kernels,
/// pads. Strides, dilations and block sizes stay numbers. Extents get one symbol only where an operator demands that
/// they are equal, however equal the numbers are. With the model's values the pattern is the program again. Errors: a
/// program that no symbols can be found for.
Expected<General> generalise(const Program& program, const Choice& choice);

/// "conv-1x1-s2-relu-", then a digest of the pattern's text: the same pattern has the same name wherever it was found.
std::string patternName(const Pattern& pattern);

}  // namespace pet::mine
