#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rules/check/meaning/function.h"
#include "rules/check/meaning/normal_form.h"
#include "rules/check/numerics/numerics.h"

// Zeros that are multiplied by activations: 0 · NaN is NaN.
namespace pet::check {
namespace {

/// Why a value may be zero at some position, whatever the inputs: for certain, or where one of these nodes leaves out a
/// position.
struct Zeros {
  bool certain = false;
  std::set<int> unlessFull = {};

  void add(const Zeros& other) {
    certain = certain || other.certain;
    unlessFull.insert(other.unlessFull.begin(), other.unlessFull.end());
  }
};

class Reader {
 public:
  explicit Reader(const Program& program) : program_(program) {
    for (size_t n = 0; n < program.nodes().size(); ++n) {
      const Node& node = program.nodes()[n];
      bool moves = opOf(node) == "Input" && !isConstant(program, {static_cast<int>(n), 0});
      bool infinite = fillsWithMinusInfinity(node);
      Zeros zeros;
      for (Value v : node.operands) {
        auto operand = static_cast<size_t>(v.node);
        moves = moves || moves_[operand];
        infinite = infinite || infinite_[operand];
        zeros.add(zeros_[operand]);
      }
      zeros_.push_back(ofNode(node, static_cast<int>(n), zeros, infinite));
      const Function* f = functionOf(opOf(node));
      infinite_.push_back(infinite && !isMaximum(opOf(node)) && !(f && f->dropsMinusInfinity));
      moves_.push_back(moves);
    }
  }

  /// The node and the operand with zeros, of every product that has an activation in another operand.
  std::vector<std::pair<int, Zeros>> multiplied() const {
    std::vector<std::pair<int, Zeros>> result;
    for (size_t n = 0; n < program_.nodes().size(); ++n) {
      const Node& node = program_.nodes()[n];
      std::string_view op = opOf(node);
      bool multiplies =
          op == "Conv" || op == "ConvTranspose" || op == "Einsum" || op == "Gemm" || op == "MatMul" || op == "Mul";
      if (!multiplies) continue;
      if (op == "Gemm" && (node.number("alpha") == 0 || node.number("beta") == 0))
        result.emplace_back(static_cast<int>(n), Zeros{.certain = true});
      for (Value v : node.operands) {
        bool meets = std::any_of(node.operands.begin(), node.operands.end(),
                                 [&](Value other) { return other != v && moves_[static_cast<size_t>(other.node)]; });
        if (meets) result.emplace_back(static_cast<int>(n), zeros_[static_cast<size_t>(v.node)]);
      }
    }
    return result;
  }

 private:
  const Program& program_;
  std::vector<bool> moves_, infinite_;
  std::vector<Zeros> zeros_;

  static bool fillsWithMinusInfinity(const Node& node) {
    auto value = node.attributes.find("value");
    return value != node.attributes.end() && node.number("value") == -std::numeric_limits<double>::infinity();
  }

  Zeros ofNode(const Node& node, int n, Zeros operands, bool infinite) const {
    std::string_view op = opOf(node);
    if (op == "Constant") return {.certain = node.number("value") == 0};
    constexpr std::string_view kWithZeros[] = {"Eye", "Band", "Not", "Floor", "Ceil", "Mod", "ConvTranspose", "Col2Im"};
    if (std::find(std::begin(kWithZeros), std::end(kWithZeros), op) != std::end(kWithZeros)) return {.certain = true};
    if (op == "Table") {
      const auto& values = node.list("values");
      return {.certain = std::find(values.begin(), values.end(), Expr(0)) != values.end()};
    }
    if (op == "Select") return zeros_[static_cast<size_t>(node.operands[1].node)];
    if (const Function* f = functionOf(op)) {
      if (f->dropsMinusInfinity && infinite) return {.certain = true};
      return f->keepsZero ? operands : Zeros();
    }
    if (fillsWithZeros(op)) operands.unlessFull.insert(n);
    return operands;
  }
};

/// No position of the node is left out.
Claims claimsThatItIsFull(const std::string& what, const Program& program, int number) {
  Names names;
  Conjunction range;
  Position at;
  for (const Dim& d : program.nodes()[static_cast<size_t>(number)].shapes[0]) {
    at.emplace_back();
    for (const Expr& atom : d.atoms()) {
      at.back().push_back(Expr::variable(names.fresh("u")));
      range.push_back(Constraint::le(0, at.back().back()));
      range.push_back(Constraint::lt(at.back().back(), atom));
    }
  }
  std::vector<Conjunction> reached;
  for (const Clause& c :
       relationOf(opOf(program.nodes()[static_cast<size_t>(number)]))(Call(program, {number, 0}), at, names))
    reached.push_back(c.domain);
  Claims claims;
  for (const Conjunction& part : complement(reached, range)) {
    claims.push_back({.what = fmt::format("{}: {} has no zeros, where it is multiplied by an activation", what,
                                          program.name({number, 0})),
                      .given = Formula::all({Formula::all(range), Formula::all(part)}),
                      .goal = Formula::no()});
  }
  return claims;
}

}  // namespace

Claims claimsOfNoZeros(const std::string& what, const Program& program) {
  Claims claims;
  std::set<int> full;
  for (const auto& [product, zeros] : Reader(program).multiplied()) {
    if (zeros.certain)
      return {
          fails(what, fmt::format("{} multiplies zeros by an activation: it spreads NaN", program.name({product, 0})))};
    full.insert(zeros.unlessFull.begin(), zeros.unlessFull.end());
  }
  for (int n : full) {
    Claims more = claimsThatItIsFull(what, program, n);
    std::move(more.begin(), more.end(), std::back_inserter(claims));
  }
  return claims;
}

}  // namespace pet::check
