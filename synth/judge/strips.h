#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synth/analysis/axes.h"
#include "synth/judge/correct.h"

namespace pet {

/// In front of the closing layout, which then writes contiguous strips for free, or behind it.
enum class WriteBack { kBeforeLayout, kAfterLayout };

/// Thrown by corrections where they end; corrections() makes a value of it.
struct NoCover {
  std::string why;
};
[[noreturn]] inline void stop(std::string why) {
  throw NoCover{std::move(why)};
}

/// lower <= position < upper along one dimension, all others whole.
struct Strip {
  size_t dim = 0;
  Expr lower, upper;
  bool beforeLayout = false;  ///< in the main operator's coordinates, else in the output's
  poly::Conjunction when;     ///< for the shapes at which these are the bounds
};
/// The same positions, whatever the shapes.
bool operator==(const Strip& a, const Strip& b);

/// A box of the output, for the shapes at which it is one.
struct ConditionalBox {
  Box box;
  poly::Conjunction when;
};

/// A node of the candidate on other operands, whose shapes may not fit.
Value copied(ProgramBuilder& b, const Node& n, std::vector<Value> operands);

/// Covers the positions where a candidate is wrong by strips. How they lie is read off a typical shape of the class.
/// Ends with NoCover where there is no cover.
class StripCover {
 public:
  StripCover(const poly::Context& context, const Uncorrected& candidate, const MainOperator& source, WriteBack where);

  std::vector<Strip> of(const poly::Set& bad) const;
  /// The positions of the output that a strip stands for.
  ConditionalBox boxOf(const Strip& s) const;
  /// The shape that decides where the class does not.
  const Bindings& typical() const { return typical_; }

 private:
  using Pieces = std::vector<poly::Set>;

  const Shape& outputShape() const { return source_.program.shape(source_.y); }
  const Shape& mainShape() const { return candidate_.program.shape(main_); }
  poly::Map closingMap() const;
  poly::Set inMainOperator(const poly::Set& part) const { return closing_->intersectDomain(part).range(); }

  std::vector<Strip> thinnest(const poly::Set& part, const Shape& shape, bool beforeLayout) const;
  std::vector<Strip> thinnestOfPieces(const Pieces& bad) const;
  std::vector<Strip> stripsOfPieces(const Pieces& bad) const;
  Strip stripOf(const poly::Set& piece) const;
  std::optional<Strip> narrowest(const poly::Set& piece, const Shape& shape, bool alone) const;
  std::vector<Strip> necessary(std::vector<Strip> strips, const poly::Set& bad) const;

  double share(const Expr& lower, const Expr& upper, const Dim& dim) const;
  const poly::Set::BoundPiece* typicalBound(const std::vector<poly::Set::BoundPiece>& pieces) const;
  double hull(const poly::Set& typical, int position, const Dim& dim) const;
  std::vector<size_t> thinDimensions(const poly::Set& part, const Shape& shape) const;

  bool areBoxes(const std::vector<Strip>& strips) const;
  bool isBox(const Strip& s) const;
  poly::Set positionsOf(const Box& box) const;

  const poly::Context& context_;
  const Uncorrected& candidate_;
  const Value main_;
  const MainOperator& source_;
  Bindings typical_;
  std::optional<poly::Map> closing_;  ///< output -> main operator's output; only for strips before the layout
};

}  // namespace pet
