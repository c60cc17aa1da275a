#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/program.h"

// One form for what can be written in several ways, so that a pattern meets a model however an exporter wrote it.
// Patterns and the views of models go through the same steps (docs/applier.md, View).
namespace pet::rewrite {

/// Where the nodes of a normal form go.
class NormalFormBuilder {
 public:
  virtual ~NormalFormBuilder() = default;
  /// Adds one node as it stands. Throws where it does not fit.
  virtual Value node(const OpRow& op, std::vector<Value> operands, Attributes attributes) = 0;
  /// A scalar of the element type that `like` has.
  virtual Value scalar(double value, Value like) = 0;
  virtual const Program& program() const = 0;
  /// Computed from constants alone.
  virtual bool isConstant(Value value) const = 0;
  /// At most one operator reads the value, and it is no output.
  virtual bool isReadOnce(Value value) const = 0;
  /// A constant of one element, and half a unit in the last place of its type, relative to 1.
  struct Number {
    double value, roundoff;
  };
  virtual std::optional<Number> number(Value value) const = 0;

  const Shape& shape(Value value) const { return program().shape(value); }
};

/// The first result of an operator whose operands are in normal form:
/// - what changes nothing goes (ir/no_op.h);
/// - Flatten, Reshape, Squeeze, Unsqueeze, a Layout that moves nothing: the Layout of their extents, where there
///   is one;
/// - a Slice of a Slice along other axes: one Slice;
/// - Gemm: MatMul with Transposes, Mul and Add;
/// - a quotient or difference with a constant: a product or sum with another one;
/// - a Gather by a table that counts up (counting.h): the IndexMap that it is, by which other Gathers are told from it;
/// - Einsum: products, sums and Transposes (einsum.h);
/// - an Exponential: Exp of a product with the base's Log;
/// - a product with itself, and Pow by 2: Square; Pow by 1/2, -1, 3 and 1: Sqrt, Reciprocal, a product, the value;
/// - Clip from 0 on: Relu;
/// - a LayerNormalization without a bias and one behind it: with a bias;
/// - a product of two matrices that are computed, times a number before or behind it: the first one times the number;
/// - an operand of a sum, difference, product or quotient has no dimensions of extent 1 in front that a Layout put
///   there, where the other operand has as many dimensions (and other extents, if the first one is read again);
/// - a constant in a sum, difference, product or quotient has no Expand or Tile that repeats it as broadcasting does;
/// - such a constant, or the slope of a PRelu, has no dimensions of extent 1 in front;
/// - (x + a)·c with constants of the same extents, one of them not 1: x·c + a·c; (x + a) + c and (x·a)·c with one
///   constant; a BatchNormalization of x + a with one value for each channel: of x, with another mean; where nothing
///   else reads what x is part of;
/// - ReduceMean and ReduceMax of all spatial dimensions: GlobalAveragePool, GlobalMaxPool;
/// - other reductions keep their dimensions, and a Layout drops them;
/// - a Conv over three axes whose kernel covers the operand along the first, without pads: over the other two;
/// - a Conv has stride 1 along an axis along which its kernel covers the padded operand; taps that are further apart
///   than the operand is long, so that one of them sees it, are 1024 apart;
/// - an AveragePool without pads counts them; zeros that a Pad puts around its operand are pads;
/// - Where that chooses a constant where its condition, a constant, holds: where the opposite holds not; and where a
///   condition that is computed does not hold: what it chooses where that holds, and else, exchanged.
Value addNormalForm(NormalFormBuilder& builder, const OpRow& op, std::vector<Value> operands, Attributes attributes);
/// What the operand repeats (Expand, Tile), where the operator broadcasts it to the same result of these extents;
/// nullopt where it does not.
std::optional<Value> withoutRepeats(const NormalFormBuilder& builder,
                                    const OpRow& op,
                                    const Attributes& attributes,
                                    const std::vector<Value>& operands,
                                    size_t operand,
                                    const Shape& result);
/// `x` with other extents and its elements in the same order; nullopt where no Layout does it.
std::optional<Value> regrouped(NormalFormBuilder& builder, Value x, const Shape& to);

/// Operators whose normal form is other operators that engines compute in another time: Einsum, Pow, Exponential. A
/// pattern that has such an operator is about models that have it, not about its normal form (docs/applier.md,
/// Readings).
bool isReadAway(std::string_view op);

/// Whether a program whose last operator has this name may match where that one does not stand: in normal form it has
/// another one.
bool mayEndOtherwise(std::string_view op);

/// Operators that stand in pieces (idioms.h).
enum class Idioms { kAsTheyStand, kRecognised };
/// The same program in normal form, with the same inputs and outputs: what pet-apply matches. As it stands where that
/// would be too large.
Program inNormalForm(const Program& program, Idioms idioms = Idioms::kRecognised);

}  // namespace pet::rewrite
