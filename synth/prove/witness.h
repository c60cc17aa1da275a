#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace pet {

/// A shape and inputs for which two programs were evaluated and differ in an output. With different extents there is
/// neither input nor position.
struct Witness {
  std::string output;  ///< the pattern's name of it
  Bindings symbols;
  Extents patternExtents, candidateExtents;                     ///< of the output
  std::vector<std::pair<std::string, Tensor<int64_t>>> inputs;  ///< by name, small integers
  std::vector<int64_t> position;                                ///< in the output, one per dimension
  std::string patternValue, candidateValue;                     ///< there
};

/// "N = 1, W = 2"; "the only shape" without symbols.
std::string shapeText(const Bindings& symbols);

/// What a search for a witness found.
struct WitnessSearch {
  std::optional<Witness> witness;
  size_t shapes = 0;  ///< at which both programs had a value
};

struct WitnessOptions {
  size_t shapes = 300;        ///< at most
  int64_t elements = 20'000;  ///< of all values of both programs at one shape
  double work = 1'000'000;    ///< multiplications of each program at one shape
  uint64_t seed = 1;
  /// Further values that are drawn at the smallest shapes where none of the shapes shows a difference: a claim may fail
  /// for numbers below -1 alone, and a scalar is one number at all shapes of a draw.
  uint64_t draws = 16;
};

/// Members of the class, small ones first (rules/small_shapes.h), at which neither program is large.
std::vector<Bindings> witnessShapes(const ShapeClass& shapes,
                                    const Program& pattern,
                                    const Program& candidate,
                                    const WitnessOptions& options = {});

/// The first of the shapes at which the extents of two programs with one output each differ.
std::optional<Witness> findExtents(const std::vector<Bindings>& shapes,
                                   const Program& pattern,
                                   const Program& candidate);

/// Evaluates both programs, with one output each, at the shapes in turn, on small integers, until they differ; then
/// makes the inputs simpler, elements 0 and then 1 where they still differ at the position. Values are integers where
/// all operators have them, then fractions modulo a prime (what differs there, differs), and doubles as the last
/// resort: there the difference must be far beyond rounding, and nearly the same in single precision. Then further
/// values are drawn (WitnessOptions::draws). A function of its arguments.
WitnessSearch findWitness(const std::vector<Bindings>& shapes,
                          const Program& pattern,
                          const Program& candidate,
                          const WitnessOptions& options = {});

}  // namespace pet
