#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"
#include "rules/taso/substitutions.h"

namespace pet::taso {

/// A substitution in our language, over every shape for which both sides are defined.
struct Translation {
  Pattern pattern;  ///< the source
  Rule rule;        ///< the target as its replacement; no proof yet, and a class that is not minimal
  /// Equations between the symbols, one of which may have to hold as well for the rule to be true: two symbols of the
  /// same kind are equal, or a kernel has the extent that TASO's parameters give. The wider class comes first.
  std::vector<std::pair<std::string, Expr>> narrowings;
  /// Where none of them helps: two symbols of different kinds are equal. (For a product with a matrix of ones: the
  /// summed extent is a number.)
  std::vector<std::pair<std::string, Expr>> lastNarrowings;
};

/// How many groups a convolution has. TASO's number follows from the shapes: channels / the kernel's channels.
enum class Groups {
  kAny,  ///< a symbol: channels are (G C), filters are (G F)
  /// The least number that the shapes allow, mostly 1. A kernel whose filters read a number of channels (a mean kernel:
  /// one) has as many groups as there are such channels: [C, 1, R, S] is depthwise, for every C.
  kLeast,
};

/// Variable v is the input "x{v}", operators are named a, b, c, … in their order. Extents are unknowns. The equations
/// of both sides' operators and of mapped outputs are solved, and the free unknowns are the symbols of the class.
/// Kernels of convolutions have any odd extents ("same") or any ("valid"), those of pools the parameters'. Errors:
/// kUnsupported, an operator, rank or extent without a translation, or Groups::kAny would make nothing wider; kText,
/// meaningless parameters.
Expected<Translation> translate(const Substitution& substitution,
                                const std::string& name,
                                Groups groups = Groups::kLeast);

}  // namespace pet::taso
