#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// Into how many pieces a kernel is cut along each axis.
constexpr int64_t kCuts[] = {2, 3};

/// A Conv over N C H W without groups and with steps of one.
bool isPlainConv(const PatternFacts& facts) {
  const Node& n = facts.root();
  return facts.single && linearName(n) == "conv" && n.shapes[0].size() == 4;
}

std::string unusedSymbol(const ShapeClass& shapes, std::string letters) {
  auto used = [&](const std::string& s) {
    return std::find(shapes.symbols.begin(), shapes.symbols.end(), s) != shapes.symbols.end();
  };
  for (char c : letters) {
    if (!used(std::string(1, c))) return std::string(1, c);
  }
  std::string name(1, letters[0]);
  do
    name += "'";
  while (used(name));
  return name;
}

/// The extents of the kernel as multiples of `cut` but for `lacking` taps, by substituting their symbols; nullopt where
/// that is not possible.
std::optional<Specialisation> multiples(const Pattern& pattern, const Node& conv, int64_t cut, int64_t lacking) {
  Specialisation special{{}, pattern};
  std::map<std::string, Expr> by;
  const Shape& w = pattern.program.shape(conv.operands[1]);
  for (size_t d = 2; d < w.size(); ++d) {
    const Expr& extent = w[d].affine();
    if ((extent + lacking).dividedBy(cut)) continue;
    auto symbol = extent.asVariable();
    if (!symbol) return std::nullopt;
    std::string part = unusedSymbol(special.pattern.shapes, "MLKTUV");
    special.pattern.shapes.symbols.push_back(part);
    by[*symbol] = Expr::variable(part) * cut - lacking;
    special.where.emplace_back(*symbol, by.at(*symbol));
  }
  std::erase_if(special.pattern.shapes.symbols, [&](const std::string& s) { return by.contains(s); });
  for (Constraint& c : special.pattern.shapes.constraints)
    c = c.substitute(by);
  auto program = pattern.program.substitute(by);
  if (!program) return std::nullopt;
  special.pattern.program = std::move(*program);
  return special;
}

/// A Conv with each piece of the kernel, on the part of the padded input that it reads.
Arrangement arrangementOf(const PatternFacts& facts, int64_t cut, int64_t lacking) {
  const Node& n = facts.root();
  std::string input = facts.program.name(n.operands[0]);
  const Shape &x = facts.program.shape(n.operands[0]), &w = facts.program.shape(n.operands[1]), &y = facts.output();
  const auto& pads = n.list("pads");
  Expr rows = *(w[2].affine() + lacking).dividedBy(cut), columns = *(w[3].affine() + lacking).dividedBy(cut);
  Shape piece{x[0], x[1], Dim(y[2].affine() + rows - 1), Dim(y[3].affine() + columns - 1)};
  std::string pieces = lacking > 0 ? fmt::format("pieces-{}-{}", cut, lacking) : fmt::format("pieces-{}", cut);
  Arrangement a{fmt::format("{}({})", pieces, input), {}, {"sum", {}, sumOf}, "kernel-in-pieces"};
  for (int64_t i = 0; i < cut; ++i) {
    for (int64_t j = 0; j < cut; ++j) {
      std::vector<Expr> starts{rows * i, columns * j};
      std::vector<Expr> ends{starts[0] + piece[2].affine(), starts[1] + piece[3].affine()};
      auto make = [input, pads, lacking, starts, ends](ProgramBuilder& b) -> Expected<Value> {
        Value v = *b.peek().find(input);
        std::vector<Expr> wider{0, 0, pads[0], pads[1], 0, 0, pads[2] + lacking, pads[3] + lacking};
        auto padded = b.add("Pad", {v}, {{"pads", std::move(wider)}});
        if (!padded) return padded;
        return b.add("Slice", {*padded}, {{"axes", std::vector<Expr>{2, 3}}, {"starts", starts}, {"ends", ends}});
      };
      a.operands.push_back({input, piece, make});
      a.behind.wanted.push_back(y);
    }
  }
  auto conv = [](ProgramBuilder& b, Value v, Value hole) { return b.add("Conv", {v, hole}); };
  a.operators.push_back({"conv", {w[0], w[1], Dim(rows), Dim(columns)}, {}, conv});
  return a;
}

}  // namespace

std::vector<Pieces> kernelsInPieces(const Pattern& pattern) {
  PatternFacts facts(pattern);
  std::vector<Pieces> result;
  if (!isPlainConv(facts)) return result;
  for (int64_t cut : kCuts) {
    for (int64_t lacking = 0; lacking < cut; ++lacking) {
      if (auto special = multiples(pattern, facts.root(), cut, lacking))
        result.push_back({std::move(*special), cut, lacking});
    }
  }
  return result;
}

std::vector<Arrangement> sumOfPieces(const PatternFacts& facts, const Pieces& pieces) {
  return {arrangementOf(facts, pieces.cut, pieces.lacking)};
}

}  // namespace pet
