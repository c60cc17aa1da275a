#pragma once

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/kernels/compiled_expr.h"
#include "ir/ops/op.h"

// Access relations against evaluation: for a node whose symbols are bound, Σ over the access pieces of
// coefficient · Π operand[at] equals the kernel's output over F_p at every position, with random operands.
namespace pet::testing_support {

inline Tensor<Fp> randomTensor(const Extents& extents, std::mt19937_64& random) {
  Tensor<Fp> t(extents);
  for (Fp& x : t.data)
    x = Fp(static_cast<int64_t>(random() % Fp::kPrime));
  return t;
}

/// An access piece with numbered variables: first the output's digits, then the reduction indices.
class CompiledPiece {
 public:
  CompiledPiece(const AccessPiece& piece, const std::vector<std::string>& digits, const Bindings& symbols)
      : coefficient_(Fp(piece.coefficient.numerator) / Fp(piece.coefficient.denominator)), position_(digits.size()) {
    for (const std::string& d : digits)
      slots_.emplace(d, slots_.size());
    for (const std::string& r : piece.reduction)
      slots_.emplace(r, slots_.size());
    checks_.resize(piece.reduction.size() + 1);
    ranges_.resize(piece.reduction.size());
    for (const Constraint& c : piece.domain)
      addConstraint(c, symbols);
    for (const OperandRead& read : piece.reads) {
      reads_.push_back({read.operand, {}});
      for (const auto& dim : read.at) {
        for (const Expr& digit : dim)
          reads_.back().digits.emplace_back(digit, slots_, symbols);
      }
    }
    for (size_t r = 0; r < ranges_.size(); ++r) {
      if (ranges_[r].low == kUnknown || ranges_[r].high == kUnknown) error_ = "no range for " + piece.reduction[r];
    }
  }

  /// Adds the piece's value at an output position. `atoms`: per operand, the extents of all its digits.
  Fp sum(const std::vector<int64_t>& position,
         const std::vector<Tensor<Fp>>& operands,
         const std::vector<Extents>& atoms) {
    values_ = position;
    values_.resize(slots_.size());
    Fp total = 0;
    if (error_.empty() && holds(0)) reduce(0, operands, atoms, total);
    return total * coefficient_;
  }
  /// What is wrong with the piece itself: a read outside its operand, an index without a range.
  const std::string& error() const { return error_; }

 private:
  static constexpr int64_t kUnknown = INT64_MIN;
  struct Range {
    int64_t low = kUnknown, high = kUnknown;
  };
  struct Read {
    int operand;
    std::vector<kernels::CompiledExpr> digits;
  };
  struct Check {
    kernels::CompiledExpr expr;
    bool zero;
  };

  void addConstraint(const Constraint& constraint, const Bindings& symbols) {
    std::map<std::string, Expr> known;
    for (const auto& [name, value] : symbols) {
      if (!slots_.contains(name)) known.emplace(name, value);
    }
    Expr e = constraint.expr.substitute(known);
    bool zero = constraint.kind == Constraint::Kind::kZero;
    size_t level = 0;  // the number of reduction indices that must be known
    std::set<std::string> variables = e.variables();
    for (const std::string& v : variables) {
      if (!slots_.contains(v)) {
        error_ = "unbound " + v + " in " + constraint.str();
        return;
      }
      size_t slot = slots_.at(v);
      if (slot >= position_) level = std::max(level, slot - position_ + 1);
    }
    checks_[level].push_back({kernels::CompiledExpr(e, slots_, {}), zero});
    if (variables.size() != 1 || level == 0 || e.hasDivision()) return;
    Range& range = ranges_[level - 1];
    int64_t a = e.coefficient(*variables.begin()), b = e.constant();  // a·r + b >= 0
    if (a > 0) range.low = std::max(range.low, -floorDivide(b, a));
    if (a < 0) range.high = range.high == kUnknown ? floorDivide(b, -a) : std::min(range.high, floorDivide(b, -a));
    if (zero) range.low = range.high = a > 0 ? floorDivide(-b, a) : floorDivide(b, -a);
  }

  bool holds(size_t level) const {
    for (const Check& c : checks_[level]) {
      int64_t v = c.expr(values_);
      if (c.zero ? v != 0 : v < 0) return false;
    }
    return true;
  }

  void reduce(size_t level, const std::vector<Tensor<Fp>>& operands, const std::vector<Extents>& atoms, Fp& total) {
    if (level == ranges_.size()) {
      Fp product = 1;
      for (const Read& read : reads_) {
        auto operand = static_cast<size_t>(read.operand);
        int64_t offset = 0;
        for (size_t i = 0; i < read.digits.size(); ++i) {
          int64_t digit = read.digits[i](values_), extent = atoms[operand][i];
          if (digit < 0 || digit >= extent) error_ = fmt::format("reads digit {} of extent {}", digit, extent);
          offset = offset * extent + digit;
        }
        if (read.digits.size() != atoms[operand].size()) error_ = "a read with the wrong number of digits";
        if (!error_.empty()) return;
        product *= operands[operand].data[static_cast<size_t>(offset)];
      }
      total += product;
      return;
    }
    for (int64_t v = ranges_[level].low; v <= ranges_[level].high && error_.empty(); ++v) {
      values_[position_ + level] = v;
      if (holds(level + 1)) reduce(level + 1, operands, atoms, total);
    }
  }

  Fp coefficient_;
  size_t position_;
  std::map<std::string, size_t> slots_;
  std::vector<std::vector<Check>> checks_;  ///< by level: those that the first `level` indices decide
  std::vector<Range> ranges_;
  std::vector<Read> reads_;
  std::vector<int64_t> values_;
  std::string error_;
};

/// The extents of all digits of a shape.
inline Extents atomExtents(const Shape& shape, const Bindings& symbols) {
  Extents extents;
  for (const Dim& d : shape) {
    for (const Expr& atom : d.atoms())
      extents.push_back(*atom.evaluate(symbols));
  }
  return extents;
}

/// Checks one output of a node whose operands and results are given.
inline testing::AssertionResult accessMatches(const Node& node,
                                              const OpView& view,
                                              int output,
                                              const Bindings& symbols,
                                              const std::vector<Tensor<Fp>>& operands,
                                              const Tensor<Fp>& expected) {
  const Shape& shape = view.outputs[static_cast<size_t>(output)];
  Index at;
  std::vector<std::string> digits;
  for (size_t d = 0; d < shape.size(); ++d) {
    at.emplace_back();
    for (size_t a = 0; a < shape[d].atoms().size(); ++a) {
      digits.push_back(fmt::format("v{}_{}", d, a));
      at.back().push_back(Expr::variable(digits.back()));
    }
  }
  NameSource names;
  auto access = node.op->access(view, output, at, names);
  if (!access) return testing::AssertionFailure() << node.op->name << ": " << access.error().message();
  std::vector<CompiledPiece> pieces;
  for (const AccessPiece& piece : *access)
    pieces.emplace_back(piece, digits, symbols);
  std::vector<Extents> atoms;
  for (const Shape& s : view.operands)
    atoms.push_back(atomExtents(s, symbols));
  Extents extents = atomExtents(shape, symbols);
  std::vector<int64_t> position(extents.size());
  for (const Fp& want : expected.data) {
    Fp got = 0;
    for (CompiledPiece& piece : pieces) {
      got += piece.sum(position, operands, atoms);
      if (!piece.error().empty()) {
        return testing::AssertionFailure()
            << node.op->name << " at " << str(Extents(position)) << ": " << piece.error();
      }
    }
    if (got != want) {
      return testing::AssertionFailure() << node.op->name << " of " << str(view.operands[0]) << ", output " << output
                                         << " at " << str(Extents(position)) << ": the relation gives " << got.value()
                                         << ", the kernel " << want.value();
    }
    for (size_t d = extents.size(); d-- > 0;) {
      if (++position[d] < extents[d]) break;
      position[d] = 0;
    }
  }
  return testing::AssertionSuccess();
}

/// Checks every node of a program (but inputs) on its own, with random operands of its operands' shapes. A binding that
/// breaks an operator's obligations is a failure, as is an operator without an access relation.
inline testing::AssertionResult accessMatchesKernels(const Program& program,
                                                     const Bindings& symbols,
                                                     uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.op->name == "Input") continue;
    std::vector<Shape> shapes;
    std::vector<Tensor<Fp>> operands;
    std::vector<const Tensor<Fp>*> pointers;
    for (Value v : node.operands) {
      shapes.push_back(program.shape(v));
      operands.push_back(randomTensor(*evaluate(shapes.back(), symbols), random));
    }
    pointers.reserve(operands.size());
    for (const Tensor<Fp>& t : operands)
      pointers.push_back(&t);
    OpView view{node.attributes, shapes, node.shapes};
    if (node.op->obligations) {
      for (const Constraint& c : node.op->obligations(view)) {
        if (c.evaluate(symbols) != true) return testing::AssertionFailure() << node.op->name << " needs " << c.str();
      }
    }
    if (!node.op->access) return testing::AssertionFailure() << node.op->name << " is opaque";
    auto results = evaluateNode<Fp>(program, static_cast<int>(i), symbols, pointers);
    if (!results) return testing::AssertionFailure() << results.error().message();
    for (size_t o = 0; o < results->size(); ++o) {
      auto result = accessMatches(node, view, static_cast<int>(o), symbols, operands, (*results)[o]);
      if (!result) return result;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace pet::testing_support
