#pragma once

#include <vector>

#include "ir/program.h"

// The layout operators at the ends of a replacement: they may cancel against a neighbour's, so their cost is told apart
// from the core's (docs/applier.md, Choose).
namespace pet {

/// Chains of layout operators with one operand and one result each, in which every value is read once; node indices, in
/// order.
struct LayoutEnds {
  /// Per input of the program, constants included (theirs are empty): from there on. Empty where the input is read
  /// twice.
  std::vector<std::vector<int>> openings;
  /// Per output: up to there. What already opens is not counted again: of layouts alone, all are openings.
  std::vector<std::vector<int>> closings;
  friend bool operator==(const LayoutEnds&, const LayoutEnds&) = default;
};

LayoutEnds layoutEnds(const Program& program);

/// A chain as a program of its own: from the first node's operand to the last one's result, with their names.
Program layoutChain(const Program& program, const std::vector<int>& nodes);

}  // namespace pet
