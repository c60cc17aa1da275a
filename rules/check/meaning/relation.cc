#include "rules/check/meaning/relation.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet::check {
namespace {

enum class Kind { kSum, kMoves, kMovesAndFills, kMaximum };

struct Entry {
  std::string_view op;
  Relation relation;
  Kind kind = Kind::kSum;
};

constexpr Entry kTable[] = {
    {"Add", addRelation},
    {"AveragePool", averagePoolRelation},
    {"Band", bandRelation},
    {"Col2Im", col2ImRelation},
    {"Concat", concatRelation, Kind::kMoves},
    {"Constant", constantRelation},
    {"Conv", convRelation},
    {"ConvTranspose", convTransposeRelation},
    {"CumSum", cumSumRelation},
    {"CyclicMap", cyclicMapRelation, Kind::kMovesAndFills},
    {"DFT", dftRelation},
    {"DepthToSpace", depthToSpaceRelation, Kind::kMoves},
    {"Einsum", einsumRelation},
    {"Expand", expandRelation, Kind::kMoves},
    {"Eye", eyeRelation},
    {"Flatten", reshapeRelation, Kind::kMoves},
    {"Gather", gatherRelation, Kind::kMoves},
    {"Gemm", gemmRelation},
    {"GlobalAveragePool", globalMeanRelation},
    {"GlobalMaxPool", globalMaxRelation, Kind::kMaximum},
    {"Identity", identityRelation},
    {"IndexMap", indexMapRelation, Kind::kMovesAndFills},
    {"Layout", layoutRelation, Kind::kMoves},
    {"MatMul", matMulRelation},
    {"MaxPool", maxPoolRelation, Kind::kMaximum},
    {"Mul", mulRelation},
    {"Neg", negRelation},
    {"OffsetReduce", offsetReduceRelation},
    {"Pad", padRelation, Kind::kMovesAndFills},
    {"ReduceMax", reduceSumRelation, Kind::kMaximum},
    {"ReduceMean", reduceMeanRelation},
    {"ReduceSum", reduceSumRelation},
    {"Reshape", reshapeRelation, Kind::kMoves},
    {"Resize", resizeRelation},
    {"STFT", stftRelation},
    {"ScatterND", scatterRowsRelation, Kind::kMoves},
    {"Select", mulRelation},
    {"Slice", sliceRelation, Kind::kMoves},
    {"SpaceToDepth", spaceToDepthRelation, Kind::kMoves},
    {"Split", splitRelation, Kind::kMoves},
    {"Squeeze", reshapeRelation, Kind::kMoves},
    {"Sub", subRelation},
    {"Table", tableRelation},
    {"Tile", tileRelation, Kind::kMoves},
    {"Transpose", transposeRelation, Kind::kMoves},
    {"Unsqueeze", reshapeRelation, Kind::kMoves},
};

const Entry* find(std::string_view op) {
  auto it = std::find_if(std::begin(kTable), std::end(kTable), [&](const Entry& e) { return e.op == op; });
  return it == std::end(kTable) ? nullptr : it;
}

bool isOf(std::string_view op, std::initializer_list<Kind> kinds) {
  const Entry* e = find(op);
  return e && std::find(kinds.begin(), kinds.end(), e->kind) != kinds.end();
}

}  // namespace

Relation relationOf(std::string_view op) {
  const Entry* e = find(op);
  return e ? e->relation : nullptr;
}
bool isMaximum(std::string_view op) {
  return isOf(op, {Kind::kMaximum});
}
bool onlyMoves(std::string_view op) {
  return isOf(op, {Kind::kMoves, Kind::kMovesAndFills});
}
bool fillsWithZeros(std::string_view op) {
  return isOf(op, {Kind::kMovesAndFills});
}

std::string_view opOf(const Node& node) {
  return node.op->name;
}

Expr Clause::draw(const std::string& stem, const Expr& extent, Names& names) {
  reduction.push_back(names.fresh(stem));
  Expr r = Expr::variable(reduction.back());
  domain.push_back(Constraint::le(0, r));
  domain.push_back(Constraint::lt(r, extent));
  return r;
}

std::vector<Expr> Clause::drawAll(const std::string& stem, const Dim& extent, Names& names) {
  std::vector<Expr> digits;
  for (const Expr& atom : extent.atoms())
    digits.push_back(draw(stem, atom, names));
  return digits;
}

void Clause::inside(const std::vector<Expr>& digits, const Dim& extent) {
  for (size_t i = 0; i < digits.size(); ++i) {
    domain.push_back(Constraint::le(0, digits[i]));
    domain.push_back(Constraint::lt(digits[i], extent.atoms()[i]));
  }
}

Call::Call(const Program& program, Value value) : node(program.node(value)), output(static_cast<size_t>(value.output)) {
  for (Value v : node.operands)
    operands.push_back(program.shape(v));
}

int64_t Call::number(const Expr& e) {
  if (auto n = e.asConstant()) return *n;
  throw Opaque(fmt::format("{} instead of a number", e.str()));
}

const Expr& line(const Dim& d) {
  if (!d.isAffine()) throw Opaque("ranges of the product dimension " + d.str());
  return d.affine();
}

Position broadcast(const Shape& operand, const Position& at) {
  Position read(at.end() - static_cast<std::ptrdiff_t>(operand.size()), at.end());
  for (size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] == Dim(1)) read[d] = {0};
  }
  return read;
}

}  // namespace pet::check
