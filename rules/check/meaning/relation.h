#pragma once

#include "rules/check/meaning/digits.h"

namespace pet::check {

struct Read {
  size_t operand = 0;
  Position at;
};

/// One piece of an operator's relation: result[at] gets coefficient · Π constants · Π operand[…], for every value of
/// the reduction indices in the domain. With `minusInfinity`, the result is -inf in the domain.
struct Clause {
  Fraction coefficient = {};
  std::vector<std::string> reduction = {};
  Conjunction domain = {};
  std::vector<Read> reads = {};
  std::vector<Factor> constants = {};
  /// For some of the constants, by place: the indices over which they add up to 1 within this clause's domain.
  std::vector<std::pair<size_t, std::string>> addsUpToOne = {};
  bool minusInfinity = false;

  /// A new reduction index 0 <= r < extent.
  Expr draw(const std::string& stem, const Expr& extent, Names& names);
  /// One for every atom.
  std::vector<Expr> drawAll(const std::string& stem, const Dim& extent, Names& names);
  /// 0 <= digit < atom, for every digit.
  void inside(const std::vector<Expr>& digits, const Dim& extent);
  void add(const Conjunction& guards) { domain.insert(domain.end(), guards.begin(), guards.end()); }
};

/// A node in front of which all shapes are known.
struct Call {
  const Node& node;
  std::vector<Shape> operands;
  size_t output = 0;

  Call(const Program& program, Value value);
  const Shape& result() const { return node.shapes[output]; }
  const std::vector<Expr>& list(std::string_view name) const { return node.list(name); }
  /// An attribute that is a number: a stride, an axis.
  int64_t integer(std::string_view name) const { return number(node.scalar(name)); }
  int64_t integer(std::string_view name, size_t i) const { return number(list(name)[i]); }
  static int64_t number(const Expr& e);
};

using Relation = std::vector<Clause> (*)(const Call& call, const Position& at, Names& names);

/// Null for an operator that has none: an input, a function, a composite operator.
Relation relationOf(std::string_view op);
/// Whether the operator's relation lists the elements among which it takes the largest.
bool isMaximum(std::string_view op);
/// Whether it copies elements to other places, at most one to each place.
bool onlyMoves(std::string_view op);
/// Whether it puts zeros where no clause of its relation holds.
bool fillsWithZeros(std::string_view op);

/// The extent of a dimension that is no product. Throws Opaque.
const Expr& line(const Dim& d);
/// The position in an operand that a position of the broadcast result reads.
Position broadcast(const Shape& operand, const Position& at);

// The relations, by family. Each is in the table of relation.cc.
std::vector<Clause> layoutRelation(const Call&, const Position&, Names&);
std::vector<Clause> spaceToDepthRelation(const Call&, const Position&, Names&);
std::vector<Clause> depthToSpaceRelation(const Call&, const Position&, Names&);
std::vector<Clause> reshapeRelation(const Call&, const Position&, Names&);
std::vector<Clause> tileRelation(const Call&, const Position&, Names&);
std::vector<Clause> expandRelation(const Call&, const Position&, Names&);
std::vector<Clause> indexMapRelation(const Call&, const Position&, Names&);
std::vector<Clause> cyclicMapRelation(const Call&, const Position&, Names&);
std::vector<Clause> padRelation(const Call&, const Position&, Names&);
std::vector<Clause> sliceRelation(const Call&, const Position&, Names&);
std::vector<Clause> splitRelation(const Call&, const Position&, Names&);
std::vector<Clause> concatRelation(const Call&, const Position&, Names&);
std::vector<Clause> transposeRelation(const Call&, const Position&, Names&);
std::vector<Clause> gatherRelation(const Call&, const Position&, Names&);
std::vector<Clause> scatterRowsRelation(const Call&, const Position&, Names&);
std::vector<Clause> resizeRelation(const Call&, const Position&, Names&);
std::vector<Clause> convRelation(const Call&, const Position&, Names&);
std::vector<Clause> convTransposeRelation(const Call&, const Position&, Names&);
std::vector<Clause> offsetReduceRelation(const Call&, const Position&, Names&);
std::vector<Clause> col2ImRelation(const Call&, const Position&, Names&);
std::vector<Clause> cumSumRelation(const Call&, const Position&, Names&);
std::vector<Clause> dftRelation(const Call&, const Position&, Names&);
std::vector<Clause> stftRelation(const Call&, const Position&, Names&);
std::vector<Clause> matMulRelation(const Call&, const Position&, Names&);
std::vector<Clause> einsumRelation(const Call&, const Position&, Names&);
std::vector<Clause> gemmRelation(const Call&, const Position&, Names&);
std::vector<Clause> averagePoolRelation(const Call&, const Position&, Names&);
std::vector<Clause> maxPoolRelation(const Call&, const Position&, Names&);
std::vector<Clause> reduceSumRelation(const Call&, const Position&, Names&);
std::vector<Clause> reduceMeanRelation(const Call&, const Position&, Names&);
std::vector<Clause> globalMeanRelation(const Call&, const Position&, Names&);
std::vector<Clause> globalMaxRelation(const Call&, const Position&, Names&);
std::vector<Clause> addRelation(const Call&, const Position&, Names&);
std::vector<Clause> subRelation(const Call&, const Position&, Names&);
std::vector<Clause> mulRelation(const Call&, const Position&, Names&);
std::vector<Clause> negRelation(const Call&, const Position&, Names&);
std::vector<Clause> identityRelation(const Call&, const Position&, Names&);
std::vector<Clause> constantRelation(const Call&, const Position&, Names&);
std::vector<Clause> eyeRelation(const Call&, const Position&, Names&);
std::vector<Clause> bandRelation(const Call&, const Position&, Names&);
std::vector<Clause> tableRelation(const Call&, const Position&, Names&);

}  // namespace pet::check
