#include "ir/denote.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {
namespace {

/// A product of reads still to be inlined, or of inputs.
struct Partial {
  Rational coefficient;
  std::vector<std::string> reduction;
  std::vector<Constraint> domain;
  std::vector<Factor> factors;
};

/// Adds constraints, without repetition; false if one is false for constants.
bool addConstraints(Partial& p, const std::vector<Constraint>& constraints) {
  for (const Constraint& c : constraints) {
    auto decided = c.decided();
    if (decided == false) return false;
    if (!decided && std::find(p.domain.begin(), p.domain.end(), c) == p.domain.end()) p.domain.push_back(c);
  }
  return true;
}

class Inliner {
 public:
  Inliner(const Program& program, NameSource& names) : program_(program), names_(names) {
    auto inputs = program.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      inputNumber_[inputs[i].node] = static_cast<int>(i);
  }

  /// Multiplies every partial of `sum` by value[at].
  Expected<std::vector<Partial>> multiply(const Partial& by, Value value, const Index& at) {
    const Node& node = program_.node(value);
    if (node.op->name == "Input") {
      Partial p = by;
      Factor f{inputNumber_.at(value.node), {}};
      for (const auto& digits : at)
        f.at.insert(f.at.end(), digits.begin(), digits.end());
      p.factors.push_back(std::move(f));
      return std::vector{std::move(p)};
    }
    if (!node.op->access) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} is not a sum of products of its operands", node.op->name));
    }
    std::vector<Shape> operands;
    for (Value v : node.operands)
      operands.push_back(program_.shape(v));
    auto pieces = node.op->access({node.attributes, operands, node.shapes}, value.output, at, names_);
    if (!pieces) return tl::unexpected(pieces.error());
    std::vector<Partial> result;
    for (const AccessPiece& piece : *pieces) {
      Partial p = by;
      p.coefficient = p.coefficient * piece.coefficient;
      p.reduction.insert(p.reduction.end(), piece.reduction.begin(), piece.reduction.end());
      if (!addConstraints(p, piece.domain)) continue;
      std::vector<Partial> product{std::move(p)};
      for (const OperandRead& read : piece.reads) {
        std::vector<Partial> next;
        for (const Partial& partial : product) {
          auto inlined = multiply(partial, node.operands[static_cast<size_t>(read.operand)], read.at);
          if (!inlined) return inlined;
          std::move(inlined->begin(), inlined->end(), std::back_inserter(next));
        }
        product = std::move(next);
      }
      std::move(product.begin(), product.end(), std::back_inserter(result));
    }
    return result;
  }

 private:
  const Program& program_;
  NameSource& names_;
  std::map<int, int> inputNumber_;
};

}  // namespace

Expected<Denotation> denote(const Program& program, Value output, NameSource& names) {
  Denotation result;
  Partial one;
  Index at;
  for (const Dim& d : program.shape(output)) {
    at.emplace_back();
    for (size_t a = 0; a < d.atoms().size(); ++a) {
      result.index.push_back(fmt::format("v{}", result.index.size()));
      at.back().push_back(Expr::variable(result.index.back()));
    }
  }
  requireInRange(at, program.shape(output), one.domain);
  auto sum = Inliner(program, names).multiply(one, output, at);
  if (!sum) return tl::unexpected(sum.error());
  for (Partial& p : *sum) {
    std::stable_sort(p.factors.begin(), p.factors.end(),
                     [](const Factor& a, const Factor& b) { return a.input < b.input; });
    result.pieces.push_back({p.coefficient, std::move(p.reduction), std::move(p.domain), std::move(p.factors)});
  }
  return result;
}

std::vector<Constraint> obligations(const Program& program) {
  const auto& nodes = program.nodes();
  // A value may be empty if all that it reaches, directly or through others, is a Concat: that operand is then left
  // out.
  std::vector<bool> mayBeEmpty(nodes.size(), true);
  for (Value v : program.outputs())
    mayBeEmpty[static_cast<size_t>(v.node)] = false;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].op->name == "Concat" || mayBeEmpty[i]) continue;
    for (Value v : nodes[i].operands)
      mayBeEmpty[static_cast<size_t>(v.node)] = false;
  }
  std::vector<Constraint> result;
  auto add = [&](const Constraint& c) {
    if (c.decided() != true && std::find(result.begin(), result.end(), c) == result.end()) result.push_back(c);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.op->name == "Input") continue;
    std::vector<Shape> operands;
    for (Value v : n.operands)
      operands.push_back(program.shape(v));
    if (n.op->obligations) {
      for (const Constraint& c : n.op->obligations({n.attributes, operands, n.shapes}))
        add(c);
    }
    for (const Shape& s : n.shapes) {
      for (const Dim& d : s) {
        for (const Expr& atom : d.atoms())
          add(Constraint::le(mayBeEmpty[i] ? 0 : 1, atom));
      }
    }
  }
  return result;
}

}  // namespace pet
