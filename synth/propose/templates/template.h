#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rules/rule.h"

// Candidates that a formula gives where search makes no sense (docs/search-space.md, Templates): which constants a
// transform has, how wide a block is. A template is a guess like any other: it is a rule only if it is proved.
namespace pet {

/// A program that is to compute what a pattern does.
struct Template {
  std::string name;  ///< unique in its pattern
  std::string family;
  std::vector<std::pair<std::string, Expr>> where;
  ShapeClass shapes;  ///< the pattern's class after `where`, and all that the program demands
  Program program;
};

/// Winograd's F(m, r) in operators of graphs, for a Conv with stride 1 along one or two axes: tiles of m results from
/// m + r - 1 inputs by as many products, transforms by constant matrices (docs/search-space.md, Templates). Extents are
/// padded up to whole tiles and cropped. Where the Conv is dilated, tiles are of its phases; of a Conv over frames, the
/// transforms are per frame and the frames of the kernel are channels. Empty: the pattern is no such Conv.
std::vector<Template> winogradTemplates(const Pattern& pattern);

/// Winograd's F(m, r) along the first of two or three axes of a Conv with stride 1, in sums of every m-th position; the
/// other axes are left to m + r - 1 Convs, of images where the axis is that of frames. Weights grow by (m + r - 1) / r
/// only, and what is summed is the input itself, not a matrix of tiles (docs/search-space.md, Templates). Empty: the
/// pattern is no such Conv.
std::vector<Template> winogradOfOneAxisTemplates(const Pattern& pattern);

/// The rows of a Conv's kernel as output channels of a Conv whose kernel is one row high, and OffsetReduce, which adds
/// them (EinNet, section 4.1); columns of the result are channels, too, by 1, 2, 3 or 5, so that few filters become as
/// many as engines compute at once. Of a chain of Convs with one that has several rows in front and one behind, the
/// same in slabs of rows, so that what is between stays in the caches. Empty: the pattern is neither.
std::vector<Template> kernelRowTemplates(const Pattern& pattern);

/// A product of matrices under a band mask, in blocks of rows: each block of queries sees its own block of keys and its
/// neighbours. For Softmax the mask is -inf outside the band, else 0; lengths are padded up to whole blocks and
/// cropped. Empty: the pattern is no such product.
std::vector<Template> blockTemplates(const Pattern& pattern);

/// What a program does on rows at constant distances (EinNet's dilated banded products), on the phases of the rows: in
/// each the distance is 1. Empty: the pattern has no such rows.
std::vector<Template> rowPhaseTemplates(const Pattern& pattern);

/// An operator by what its row says that it is, where engines compute the pieces faster: Mish, which needs a logarithm
/// and a hyperbolic tangent by its name and a Sigmoid by its definition (OpRow::definition), Softplus, Elu and Selu;
/// Pow and LRN, by roots and products (inPieces()); Einsum, Exponential and Div by a constant, by their normal form
/// (rules/rewrite/normal_form.h); a PRelu by a number, as a LeakyRelu. Pieces that are one operator (idioms.h) as that
/// one. Empty: the pattern ends in no such operator.
std::vector<Template> definitionTemplates(const Pattern& pattern);

/// A regrouping that moves axes as two, each of which exchanges two groups of neighbours: a Transpose of four
/// dimensions at most. Empty: the pattern is no regrouping, or is one such exchange.
std::vector<Template> transposeTemplates(const Pattern& pattern);

/// A regrouping that moves axes, what is in front of them and behind them left as it lies: a table of the rows behind
/// them. Empty: the pattern is no regrouping, or nothing is behind the axes that move.
std::vector<Template> tableTemplates(const Pattern& pattern);

/// Rolls, each of two Slices that a Concat joins in the other order, among operators that regroup and move: one table
/// of positions that go around the ends. Empty: the pattern has no Roll, or anything else.
std::vector<Template> rollTemplates(const Pattern& pattern);

/// A transposed Conv along one axis with its phases as channels of a Conv, along a signal or a row of an image, one for
/// each position of a step, where the kernel is a number of steps; cut where it has pads. Empty: the pattern is no such
/// Conv.
std::vector<Template> signalPhaseTemplates(const Pattern& pattern);

/// Slices that take every other position, or one of several, as parts of a Split of the dimension's inner digit, which
/// reads its operand once. Empty: the pattern has none that divide the dimension.
std::vector<Template> stepTemplates(const Pattern& pattern);

/// Slices by steps from every phase on, joined: a regrouping. Empty: the pattern is none of these.
std::vector<Template> phaseTemplates(const Pattern& pattern);

/// What a program that only moves values copies, box by box: Slices of its inputs, joined. Each is copied as a whole
/// where the program goes through tables or other orders of dimensions. Empty: the result is not made of boxes, or
/// there is nothing to cut.
std::vector<Template> sliceTemplates(const Pattern& pattern);

/// Windows along an axis at constant distances, which overlap, as blocks as long as these: a table of blocks, not of
/// single positions. What the blocks reach behind the end is padded, or within the input in a class of its own. Empty:
/// the pattern is no such IndexMap.
std::vector<Template> windowTemplates(const Pattern& pattern);

/// Squared distances of rows by the squares of their lengths and their products: Σ (x - z)² = Σ x² + Σ z² - 2 Σ x z. Of
/// rows that are close to each other the terms cancel. Empty: the pattern is no sum of squares of such differences.
std::vector<Template> distanceTemplates(const Pattern& pattern);

/// Distances of rows that are sums of the magnitudes of 2, 3 or 4 differences, column by column. Empty: the pattern is
/// no such sum.
std::vector<Template> columnTemplates(const Pattern& pattern);

/// A sum that a LayerNormalization reads, as the difference from the negated addend: engines have an operator for the
/// two together that may take longer than both (ONNX Runtime's takes 5 ns an element on a Zen 4). Empty: the pattern
/// does not end in such a sum.
std::vector<Template> differenceTemplates(const Pattern& pattern);

/// Softmax along an axis of two positions, each of which is the Sigmoid of its difference from the other one. Empty:
/// the pattern is no Softmax, or its axis has another extent.
std::vector<Template> pairTemplates(const Pattern& pattern);

/// CumSum along the last axis in blocks of 16, 32 or 64: a product with a triangle in each, and what is in front of it.
/// Empty: the pattern is no such CumSum.
std::vector<Template> runningSumTemplates(const Pattern& pattern);

/// A Conv without the taps that see nothing but padding. Empty: the pattern is no Conv that has some at every shape of
/// its class.
std::vector<Template> seeingTapTemplates(const Pattern& pattern);

/// The spectra of a signal's frames by a Conv along the signal; its kernel is what the operator makes of the unit
/// matrix. Empty: the pattern is no STFT.
std::vector<Template> spectrumTemplates(const Pattern& pattern);

/// A Conv of images, of each channel by itself, with channels of zeros up to a multiple of 4, as engines with blocks of
/// channels want them: of one, two or three channels less. Empty: the pattern is no such Conv.
std::vector<Template> paddedGroupTemplates(const Pattern& pattern);

/// Resize of one position along each axis that is resized, which is there everywhere: an Expand. Empty: the pattern is
/// no Resize to extents that do not depend on the operand's.
std::vector<Template> copyTemplates(const Pattern& pattern);

/// A product of OneHot, as numbers, and a table: the table's row with the index, and a row of zeros behind the table
/// for what is no index. Empty: the pattern is no such product.
std::vector<Template> lookupTemplates(const Pattern& pattern);

/// MaxPools of one value, sliding by one, each larger than the one before it: each of the smaller one's result, as a
/// whole or along one axis after another. Empty: the pattern is no such row of MaxPools.
std::vector<Template> poolTemplates(const Pattern& pattern);

}  // namespace pet
