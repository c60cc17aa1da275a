#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "synth/propose/skeletons/skeleton.h"

// What skeletons are put together from. Private to this folder.
namespace pet {

/// What the enumeration reads off a pattern.
struct PatternFacts {
  explicit PatternFacts(const Pattern& pattern);

  const Program& program;
  const ShapeClass& shapes;
  Bindings typical;                ///< a usual shape
  std::vector<Value> activations;  ///< inputs that something reads
  /// Of the pattern's operators; operators in a row multiply their strides, and the steps of Slices are strides.
  std::set<int64_t> strides{1}, dilations{1};
  std::set<Expr> groups{Expr(1)};
  bool upsamples = false;
  bool mirrors = false;  ///< a Pad of a mode that repeats what is inside
  /// One operator with a weight, on an input: alone it is what plans are for (synth/propose/plans).
  bool single = false;

  const Node& root() const { return program.node(program.outputs()[0]); }
  const Shape& output(size_t o = 0) const { return program.shape(program.outputs()[o]); }
};

/// A value that is added to a program under construction.
using Make = std::function<Expected<Value>(ProgramBuilder&)>;

/// What may stand before a hole.
struct Operand {
  std::string name;
  Shape shape;
  Make make;
  std::optional<Value> own = {};  ///< the pattern's value that it is
};

/// What may stand behind holes: the pattern's outputs from values of these shapes.
struct Behind {
  std::string name;
  std::vector<Shape> wanted;
  std::function<Expected<std::vector<Value>>(ProgramBuilder&, const std::vector<Value>&)> make;
  bool joins = false;  ///< each value is a part of the output, with a bias of its own
};

/// An operator with an open weight between an operand and a wanted shape.
struct LinearOperator {
  std::string name;
  Shape hole;
  std::vector<HoleTaps> taps;
  std::function<Expected<Value>(ProgramBuilder&, Value operand, Value hole)> make;
};

/// Operands, and what gathers one operator's value for each; or one operand.
struct Arrangement {
  std::string name;  ///< of all operands together, if they are many
  std::vector<Operand> operands;
  Behind behind;
  std::string family = {};
  std::vector<LinearOperator> operators = {};  ///< the only ones, for every operand; empty: linearOperators()
};

// --- before.cc, behind.cc ---

/// An input; the pattern's own operators without weights on it; inputs joined along the channels.
std::vector<Operand> operandsBefore(const PatternFacts& facts);
/// Nothing; the pattern's last operator, where it has no weights; DepthToSpace; a Split into the pattern's outputs.
std::vector<Behind> endingsOf(const PatternFacts& facts);

/// All inputs joined along the channels, where they are alike.
std::optional<Operand> joinedInputs(const PatternFacts& facts);

/// The sum of an operator for each input; and of what the pattern's own operators without weights, of which each input
/// has others, then make of it.
std::vector<Arrangement> sumsOverInputs(const PatternFacts& facts);
/// The sum of all values, as the only output.
Expected<std::vector<Value>> sumOf(ProgramBuilder& b, const std::vector<Value>& values);

// --- groups.cc ---

/// Siblings on inputs of their own as one operator in groups, where their outputs have unequal numbers of channels, one
/// of which is the largest at all shapes: the other groups get filters of zeros, whose results are cut off (PET merges
/// such convolutions).
std::vector<Arrangement> unequalGroups(const PatternFacts& facts);

// --- output_phases.cc ---

/// The channels of all four phases of an image, every other row and column, from one value.
std::optional<Behind> depthToSpace(const PatternFacts& facts);
/// An operator for each phase: each with the taps that its phase needs.
std::vector<Arrangement> phasesOf(const PatternFacts& facts);

// --- frames.cc, flipped.cc, flattened.cc, columns.cc, kernel_pieces.cc ---

/// A kernel over a few frames as the sum of kernels over one, of the frames that are there, with the frames in the
/// batch; or as one kernel over stacked frames.
std::vector<Arrangement> framesOf(const PatternFacts& facts);
/// A row as an image of height 1.
std::vector<Arrangement> imagesOfRows(const PatternFacts& facts);
/// A Conv over one or three dimensions as the transposed one with its kernel flipped; over two, that is a plan.
std::vector<Arrangement> flippedKernels(const PatternFacts& facts);
/// Of a pattern with products and without windows: the channels of an image multiplied from the left, with all its
/// positions in one dimension.
std::vector<Arrangement> productsFromTheLeft(const PatternFacts& facts);
/// A transposed Conv as a MatMul and Col2Im, each image by itself or all of them together.
std::vector<Arrangement> columnsOf(const PatternFacts& facts);

/// A pattern with a kernel whose extents are multiples of `cut` but for `lacking` taps.
struct Pieces {
  Specialisation special;
  int64_t cut, lacking;
};
std::vector<Pieces> kernelsInPieces(const Pattern& pattern);
/// The sum of an operator for each of cut² pieces of such a kernel, the last ones with zeros for what is lacking
/// (EinNet, section 4.2: a sum is split).
std::vector<Arrangement> sumOfPieces(const PatternFacts& facts, const Pieces& pieces);

// --- linear_operators.cc ---

/// The operators with an open weight that lead from one shape to the other.
std::vector<LinearOperator> linearOperators(const PatternFacts& facts,
                                            const Shape& from,
                                            const Shape& to,
                                            int& nextSymbol);
/// Of a pattern that is one Conv: transposed Convs of stride one between the shapes.
std::vector<LinearOperator> transposedConvs(const PatternFacts& facts, const Shape& from, const Shape& to);
/// The name that one of the pattern's operators has as a linear operator; "" if it has none.
std::string linearName(const Node& node);

// --- Shapes ---

/// N C H W and its like.
bool isImage(const Shape& s);
/// Where channels are: dimension 1 of an image, the last one of a matrix.
size_t channelAxis(const Shape& s);
/// Equal but for the channels.
bool alike(const Shape& a, const Shape& b);
/// The sum of the channels; nullopt where that is no dimension.
std::optional<Dim> joinedChannels(const std::vector<Shape>& shapes);
/// An operator without weights, linear in one activation and with one output.
bool isWeightless(const Program& program, const Node& node);
/// One value as the list of all outputs.
Expected<std::vector<Value>> only(const Expected<Value>& v);
/// A layout in its text form, "n c w -> n c 1 w"; `extents` are those of axes that share a dimension of x.
Expected<Value> layout(ProgramBuilder& b,
                       Value x,
                       std::string_view text,
                       const std::map<std::string, Dim>& extents = {});

}  // namespace pet
