#pragma once

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/ops/kernels/compiled_expr.h"
#include "ir/ops/op.h"

// Access relations against evaluation, for a node whose symbols are bound, at every position, with random operands: the
// sum over the access pieces of coefficient · Π constants · Π operand[at] equals the kernel's output over F_p; under a
// maximum the largest operand[at] does, over double.
namespace pet::testing_support {

inline Tensor<Fp> randomTensor(const Extents& extents, std::mt19937_64& random) {
  Tensor<Fp> t(extents);
  for (Fp& x : t.data)
    x = Fp(static_cast<int64_t>(random() % Fp::kPrime));
  return t;
}

inline Tensor<double> randomNumbers(const Extents& extents, std::mt19937_64& random) {
  Tensor<double> t(extents);
  for (double& x : t.data)
    x = static_cast<double>(random() % 2001) / 500 - 2;
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
    for (const ConstantRead& c : piece.constants) {
      if (!c.value) error_ = "no value for the constant " + c.key;
      constants_.push_back({c.value, {}, {}});
      for (const Expr& e : c.parameters)
        constants_.back().parameters.push_back(e.evaluate(symbols).value());
      for (const Expr& e : c.at)
        constants_.back().at.emplace_back(e, slots_, symbols);
    }
    for (size_t r = 0; r < ranges_.size(); ++r) {
      if (ranges_[r].low == kUnknown || ranges_[r].high == kUnknown) error_ = "no range for " + piece.reduction[r];
    }
  }

  /// The piece's value at an output position. `atoms`: per operand, the extents of all its digits.
  Fp sum(const std::vector<int64_t>& position,
         const std::vector<Tensor<Fp>>& operands,
         const std::vector<Extents>& atoms) {
    Fp total = 0;
    each(position, atoms, [&](Fp product) {
      for (size_t i = 0; i < reads_.size(); ++i)
        product *= operands[static_cast<size_t>(reads_[i].operand)].data[offsets_[i]];
      total += product;
    });
    return total * coefficient_;
  }
  /// The largest value that the piece reads at an output position; -inf if there is none.
  double largest(const std::vector<int64_t>& position,
                 const std::vector<Tensor<double>>& operands,
                 const std::vector<Extents>& atoms) {
    double top = -std::numeric_limits<double>::infinity();
    bool single = reads_.size() == 1 && constants_.empty() && coefficient_ == Fp(1);
    if (!single) error_ = "a maximum of something else than a value";
    each(position, atoms,
         [&](Fp) { top = std::max(top, operands[static_cast<size_t>(reads_[0].operand)].data[offsets_[0]]); });
    return top;
  }
  /// Calls f(operands' offsets) at every point at which the piece reads, with a number that is not 0.
  template <class F>
  void eachRead(const std::vector<int64_t>& position, const std::vector<Extents>& atoms, F&& f) {
    each(position, atoms, [&](Fp number) {
      if (number != Fp(0)) f(std::as_const(offsets_));
    });
  }
  /// Whether the constants add up to 1 over the last `count` reduction indices, for all values of the others for which
  /// the constraints on these hold.
  bool addsUpToOne(const std::vector<int64_t>& position, size_t count) {
    bool all = true;
    start(position);
    auto check = [&] {
      Fp total = 0;
      visit(ranges_.size() - count, ranges_.size(), [&] { total += constantProduct(); });
      all = all && total == Fp(1);
    };
    if (error_.empty() && holds(0)) visit(0, ranges_.size() - count, check);
    return all;
  }
  /// At how many points of the reduction the piece holds.
  int64_t points(const std::vector<int64_t>& position, const std::vector<Extents>& atoms) {
    int64_t count = 0;
    each(position, atoms, [&](Fp) { ++count; });
    return count;
  }
  /// Calls f(digits and reduction indices) at every point of the reduction at which the piece holds.
  template <class F>
  void eachPoint(const std::vector<int64_t>& position, F&& f) {
    start(position);
    if (error_.empty() && holds(0)) visit(0, ranges_.size(), [&] { f(std::as_const(values_)); });
  }
  /// The place of each digit and reduction index among the values.
  const std::map<std::string, size_t>& slots() const { return slots_; }
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
  struct Number {
    Rational (*value)(std::span<const int64_t>, std::span<const int64_t>);
    std::vector<int64_t> parameters;
    std::vector<kernels::CompiledExpr> at;
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

  void start(const std::vector<int64_t>& position) {
    values_ = position;
    values_.resize(slots_.size());
  }

  /// Calls f at every value of the reduction indices from `level` to `end` for which what they decide holds.
  template <class F>
  void visit(size_t level, size_t end, F&& f) {
    if (level == end) return f();
    for (int64_t v = ranges_[level].low; v <= ranges_[level].high && error_.empty(); ++v) {
      values_[position_ + level] = v;
      if (holds(level + 1)) visit(level + 1, end, f);
    }
  }

  /// Calls f(product of the constants) at every point, with offsets_ set.
  template <class F>
  void each(const std::vector<int64_t>& position, const std::vector<Extents>& atoms, F&& f) {
    start(position);
    if (!error_.empty() || !holds(0)) return;
    visit(0, ranges_.size(), [&] {
      locate(atoms);
      if (error_.empty()) f(constantProduct());
    });
  }

  void locate(const std::vector<Extents>& atoms) {
    offsets_.clear();
    for (const Read& read : reads_) {
      const Extents& extents = atoms[static_cast<size_t>(read.operand)];
      if (read.digits.size() != extents.size()) error_ = "a read with the wrong number of digits";
      int64_t offset = 0;
      for (size_t i = 0; i < read.digits.size() && error_.empty(); ++i) {
        int64_t digit = read.digits[i](values_);
        if (digit < 0 || digit >= extents[i]) error_ = fmt::format("reads digit {} of extent {}", digit, extents[i]);
        offset = offset * extents[i] + digit;
      }
      offsets_.push_back(static_cast<size_t>(offset));
    }
  }

  Fp constantProduct() const {
    Fp product = 1;
    for (const Number& n : constants_) {
      std::vector<int64_t> at;
      for (const kernels::CompiledExpr& e : n.at)
        at.push_back(e(values_));
      Rational value = n.value(n.parameters, at);
      product *= Fp(value.numerator) / Fp(value.denominator);
    }
    return product;
  }

  Fp coefficient_;
  size_t position_;
  std::map<std::string, size_t> slots_;
  std::vector<std::vector<Check>> checks_;  ///< by level: those that the first `level` indices decide
  std::vector<Range> ranges_;
  std::vector<Read> reads_;
  std::vector<Number> constants_;
  std::vector<int64_t> values_;
  std::vector<size_t> offsets_;
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

/// The access pieces of one output of a node, and the positions at which they are looked at.
struct AccessAt {
  std::vector<std::string> digits;
  std::vector<AccessPiece> pieces;
  std::vector<Extents> atoms;  ///< per operand
  Extents extents;             ///< of the output's digits
};

inline Expected<AccessAt> accessOf(const Node& node, const OpView& view, int output, const Bindings& symbols) {
  const Shape& shape = view.outputs[static_cast<size_t>(output)];
  AccessAt result{{}, {}, {}, atomExtents(shape, symbols)};
  Index at;
  for (size_t d = 0; d < shape.size(); ++d) {
    at.emplace_back();
    for (size_t a = 0; a < shape[d].atoms().size(); ++a) {
      result.digits.push_back(fmt::format("v{}_{}", d, a));
      at.back().push_back(Expr::variable(result.digits.back()));
    }
  }
  NameSource names;
  auto access = node.op->access(view, output, at, names);
  if (!access) return tl::unexpected(access.error());
  result.pieces = std::move(*access);
  for (const Shape& s : view.operands)
    result.atoms.push_back(atomExtents(s, symbols));
  return result;
}

/// Calls f(position, its row-major number) for all positions, until it returns false.
template <class F>
void eachPosition(const Extents& extents, F f) {
  std::vector<int64_t> position(extents.size());
  for (int64_t i = 0, n = elementCount(extents); i < n; ++i) {
    if (!f(position, static_cast<size_t>(i))) return;
    for (size_t d = extents.size(); d-- > 0;) {
      if (++position[d] < extents[d]) break;
      position[d] = 0;
    }
  }
}

/// Compares value(piece, position), combined over all pieces, with `expected`.
template <class T, class Value, class Combine>
testing::AssertionResult accessMatches(
    const AccessAt& access, const Bindings& symbols, const Tensor<T>& expected, T start, Value value, Combine combine) {
  std::vector<CompiledPiece> pieces;
  for (const AccessPiece& piece : access.pieces)
    pieces.emplace_back(piece, access.digits, symbols);
  auto result = testing::AssertionSuccess();
  eachPosition(access.extents, [&](const std::vector<int64_t>& position, size_t i) {
    T got = start;
    for (CompiledPiece& piece : pieces) {
      got = combine(got, value(piece, position));
      if (!piece.error().empty()) {
        result = testing::AssertionFailure() << "at " << str(Extents(position)) << ": " << piece.error();
        return false;
      }
    }
    if (got == expected.data[i]) return true;
    result = testing::AssertionFailure() << "at " << str(Extents(position)) << " the relation is not what the kernel "
                                         << "computes";
    return false;
  });
  return result;
}

/// A layout operator's pieces copy; one of them holds at every position, or none where zeros are filled in.
inline testing::AssertionResult copiesOnce(const OpRow& op, const AccessAt& access, const Bindings& symbols) {
  std::vector<CompiledPiece> pieces;
  for (const AccessPiece& piece : access.pieces) {
    bool copies = piece.reads.size() == 1 && piece.coefficient == Rational{1, 1} && piece.constants.empty();
    if (!piece.reduction.empty() || !(copies || piece.reads.empty())) {
      return testing::AssertionFailure() << "a layout operator that computes";
    }
    pieces.emplace_back(piece, access.digits, symbols);
  }
  auto result = testing::AssertionSuccess();
  eachPosition(access.extents, [&](const std::vector<int64_t>& position, size_t) {
    int64_t holding = 0;
    for (CompiledPiece& piece : pieces)
      holding += piece.points(position, access.atoms);
    if (holding == 1 || (holding == 0 && op.fills)) return true;
    result = testing::AssertionFailure() << holding << " pieces hold at " << str(Extents(position));
    return false;
  });
  return result;
}

/// Constants that are said to add up to 1 over some reduction indices do.
inline testing::AssertionResult unitsAddUp(const AccessAt& access, const Bindings& symbols) {
  for (const AccessPiece& piece : access.pieces) {
    for (const ConstantRead& c : piece.constants) {
      if (c.sumsToOne.empty()) continue;
      AccessPiece alone{.domain = piece.domain, .constants = {c}};
      for (const std::string& r : piece.reduction) {
        if (std::find(c.sumsToOne.begin(), c.sumsToOne.end(), r) == c.sumsToOne.end()) alone.reduction.push_back(r);
      }
      alone.reduction.insert(alone.reduction.end(), c.sumsToOne.begin(), c.sumsToOne.end());
      CompiledPiece compiled(alone, access.digits, symbols);
      auto result = testing::AssertionSuccess();
      eachPosition(access.extents, [&](const std::vector<int64_t>& position, size_t) {
        if (compiled.addsUpToOne(position, c.sumsToOne.size()) && compiled.error().empty()) return true;
        result = testing::AssertionFailure()
              << c.key << " does not add up to 1 at " << str(Extents(position)) << compiled.error();
        return false;
      });
      if (!result) return result;
    }
  }
  return testing::AssertionSuccess();
}

/// One node on its own, with random operands of its operands' shapes.
inline testing::AssertionResult nodeMatchesKernel(
    const Program& program, int index, const OpView& view, const Bindings& symbols, std::mt19937_64& random) {
  const Node& node = program.nodes()[static_cast<size_t>(index)];
  bool isMaximum = node.op->meaning == Meaning::kMaximum;
  std::vector<Tensor<Fp>> operands;
  std::vector<Tensor<double>> numbers;
  std::vector<const Tensor<Fp>*> operandPointers;
  std::vector<const Tensor<double>*> numberPointers;
  for (const Shape& s : view.operands) {
    operands.push_back(randomTensor(*evaluate(s, symbols), random));
    numbers.push_back(randomNumbers(*evaluate(s, symbols), random));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    operandPointers.push_back(&operands[i]);
    numberPointers.push_back(&numbers[i]);
  }
  for (int o = 0; o < static_cast<int>(node.shapes.size()); ++o) {
    auto access = accessOf(node, view, o, symbols);
    if (!access) return testing::AssertionFailure() << access.error().message();
    auto result = testing::AssertionSuccess();
    if (isMaximum) {
      auto want = evaluateNode<double>(program, index, symbols, numberPointers);
      if (!want) return testing::AssertionFailure() << want.error().message();
      auto largest = [&](CompiledPiece& p, const auto& at) { return p.largest(at, numbers, access->atoms); };
      result = accessMatches<double>(*access, symbols, (*want)[static_cast<size_t>(o)],
                                     -std::numeric_limits<double>::infinity(), largest,
                                     [](double a, double b) { return std::max(a, b); });
    } else {
      auto want = evaluateNode<Fp>(program, index, symbols, operandPointers);
      if (!want) return testing::AssertionFailure() << want.error().message();
      auto sum = [&](CompiledPiece& p, const auto& at) { return p.sum(at, operands, access->atoms); };
      result = accessMatches<Fp>(*access, symbols, (*want)[static_cast<size_t>(o)], Fp(0), sum,
                                 [](Fp a, Fp b) { return a + b; });
    }
    if (result && node.op->layout) result = copiesOnce(*node.op, *access, symbols);
    if (result) result = unitsAddUp(*access, symbols);
    if (!result) return result << ", " << node.op->name << ", output " << o;
  }
  return testing::AssertionSuccess();
}

/// Checks every node of a program (but inputs) on its own. A binding that breaks an operator's obligations is a
/// failure, as is an operator without an access relation.
inline testing::AssertionResult accessMatchesKernels(const Program& program,
                                                     const Bindings& symbols,
                                                     uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.op->name == "Input") continue;
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program.shape(v));
    OpView view{node.attributes, shapes, node.shapes};
    if (node.op->obligations) {
      for (const Constraint& c : node.op->obligations(view)) {
        if (c.evaluate(symbols) != true) return testing::AssertionFailure() << node.op->name << " needs " << c.str();
      }
    }
    if (!node.op->access) return testing::AssertionFailure() << node.op->name << " is opaque";
    auto result = nodeMatchesKernel(program, static_cast<int>(i), view, symbols, random);
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace pet::testing_support
