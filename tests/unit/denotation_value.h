#pragma once

#include <charconv>

#include "ir/denote.h"
#include "ir/text.h"
#include "tests/unit/access_check.h"

// The value of a denotation, point by point, over double: what its sums, functions, maxima and constants say, without
// any of the operators' kernels but those of element-wise functions.
namespace pet::testing_support {

class DenotationValue {
 public:
  DenotationValue(const Program& program,
                  const Denotation& denotation,
                  const Bindings& symbols,
                  const std::vector<Tensor<double>>& inputs)
      : symbols_(symbols), inputs_(inputs) {
    for (Value v : program.inputs())
      atoms_.push_back(atomExtents(program.shape(v), symbols));
    findFormulas(program);
    for (int s = 0; s <= static_cast<int>(denotation.nested.size()); ++s)
      sums_.emplace_back(*this, denotation.sum(s));
    for (const Application& a : denotation.applications)
      applications_.emplace_back(*this, a);
  }

  double at(const std::vector<int64_t>& position) { return sumAt(0, position); }
  const std::string& error() const { return error_; }

 private:
  using Position = std::vector<int64_t>;

  /// Points of reduction indices in a domain, over named digits.
  struct Points {
    CompiledPiece piece;
    Points(const std::vector<std::string>& digits,
           const std::vector<std::string>& reduction,
           const std::vector<Constraint>& domain,
           const Bindings& symbols)
        : piece(AccessPiece{.reduction = reduction, .domain = domain}, digits, symbols) {}
  };

  struct CompiledFactor {
    const Factor& factor;
    std::vector<kernels::CompiledExpr> at;
    std::vector<int64_t> parameters;
  };

  struct CompiledSumPiece {
    double coefficient;
    Points points;
    std::vector<CompiledFactor> factors;

    CompiledSumPiece(DenotationValue& all, const Sum& sum, const Piece& p)
        : coefficient(static_cast<double>(p.coefficient.numerator) / static_cast<double>(p.coefficient.denominator)),
          points(sum.index, p.reduction, p.domain, all.symbols_) {
      for (const Factor& f : p.factors) {
        factors.push_back({f, {}, {}});
        for (const Expr& e : f.at)
          factors.back().at.emplace_back(e, points.piece.slots(), all.symbols_);
        for (const Expr& e : f.parameters)
          factors.back().parameters.push_back(e.evaluate(all.symbols_).value());
      }
    }
  };

  struct CompiledSum {
    std::vector<Points> finite;
    std::vector<CompiledSumPiece> pieces;

    CompiledSum(DenotationValue& all, const Sum& sum) {
      for (const auto& conjunction : sum.finite)
        finite.emplace_back(sum.index, std::vector<std::string>{}, conjunction, all.symbols_);
      for (const Piece& p : sum.pieces)
        pieces.emplace_back(all, sum, p);
    }
  };

  struct CompiledApplication {
    const Application& application;
    std::vector<Points> alternatives;
    std::map<Position, double> known = {};

    CompiledApplication(DenotationValue& all, const Application& a) : application(a) {
      for (const Application::Alternative& alternative : a.alternatives)
        alternatives.emplace_back(a.index, alternative.reduction, alternative.domain, all.symbols_);
    }
  };

  double sumAt(int number, const Position& position) {
    CompiledSum& sum = sums_[static_cast<size_t>(number)];
    bool isFinite = false;
    for (Points& p : sum.finite)
      p.piece.eachPoint(position, [&](const Position&) { isFinite = true; });
    if (!isFinite) return -std::numeric_limits<double>::infinity();
    double total = 0;
    for (CompiledSumPiece& p : sum.pieces) {
      p.points.piece.eachPoint(position, [&](const Position& values) {
        double product = p.coefficient;
        for (const CompiledFactor& f : p.factors)
          product *= factorAt(f, values);
        total += product;
      });
      if (!p.points.piece.error().empty()) error_ = p.points.piece.error();
    }
    return total;
  }

  double factorAt(const CompiledFactor& f, const Position& values) {
    Position at;
    for (const kernels::CompiledExpr& e : f.at)
      at.push_back(e(values));
    switch (f.factor.kind) {
      case Factor::Kind::kInput:
        return inputAt(static_cast<size_t>(f.factor.number), at);
      case Factor::Kind::kApplication:
        return applicationAt(f.factor.number, at);
      case Factor::Kind::kConstant:
        return constantAt(f.factor.key, f.parameters, at);
    }
    return 0;
  }

  double inputAt(size_t input, const Position& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= atoms_[input][i]) {
        error_ = fmt::format("reads digit {} of extent {}", at[i], atoms_[input][i]);
        return 0;
      }
      offset = offset * atoms_[input][i] + at[i];
    }
    return inputs_[input].data[static_cast<size_t>(offset)];
  }

  double applicationAt(int number, const Position& at) {
    CompiledApplication& c = applications_[static_cast<size_t>(number)];
    if (auto known = c.known.find(at); known != c.known.end()) return known->second;
    double value = c.application.isMaximum() ? maximumAt(c, at) : functionAt(c, at);
    return c.known[at] = value;
  }

  double functionAt(const CompiledApplication& c, const Position& at) {
    std::vector<double> arguments;
    for (int sum : c.application.arguments)
      arguments.push_back(sumAt(sum, at));
    return applied(c.application.key, arguments);
  }

  double maximumAt(CompiledApplication& c, const Position& at) {
    double top = -std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < c.alternatives.size(); ++a) {
      c.alternatives[a].piece.eachPoint(at, [&](const Position& values) {
        top = std::max(top, sumAt(c.application.alternatives[a].element, values));
      });
    }
    return top;
  }

  /// A function by its key: the operator's name and its attributes.
  double applied(const std::string& key, const std::vector<double>& arguments) {
    std::istringstream in(key);
    std::string name, word, text, operands;
    in >> name;
    std::map<std::string, Tensor<double>> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string operand = fmt::format("x{}", i);
      text += operand + ": []\n";
      operands += (i == 0 ? "" : ", ") + operand;
      values[operand] = Tensor<double>({}, {arguments[i]});
    }
    text += fmt::format("y = {}({})", name, operands);
    for (const AttributeSpec& spec : findOp(name)->attributes) {
      in >> word;
      text += fmt::format(" {}={}", spec.name, word);
    }
    auto program = parseProgram(text, key);
    auto y = program ? evaluate<double>(*program, {}, values) : tl::unexpected(program.error());
    if (!y) error_ = y.error().message();
    return y ? (*y)[0].data[0] : 0;
  }

  double constantAt(const std::string& key, const std::vector<int64_t>& parameters, const Position& at) {
    auto fraction = [](Rational r) { return static_cast<double>(r.numerator) / static_cast<double>(r.denominator); };
    if (auto formula = formulas_.find(key); formula != formulas_.end())
      return fraction(formula->second(parameters, at));
    if (key.rfind("Table", 0) == 0) return fraction(findTable()(parameters, at));
    if (size_t of = key.rfind(" of "); of != std::string::npos) {
      std::string number = key.substr(of + 4);
      size_t bar = number.find('/');
      return applied(key.substr(0, of), {std::stod(number.substr(0, bar)) / std::stod(number.substr(bar + 1))});
    }
    double value = 0;
    auto read = std::from_chars(key.data(), key.data() + key.size(), value);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size()) error_ = "a constant that is not known: " + key;
    return value;
  }

  using Formula = Rational (*)(std::span<const int64_t>, std::span<const int64_t>);

  /// Tables that come of others have keys of their own, and the same formula.
  static Formula findTable() {
    auto program = parseProgram("t = Table() shape=[1] values=[1]", "table");
    NameSource names;
    const Node& node = program->nodes()[0];
    return (*node.op->access({node.attributes, {}, node.shapes}, 0, {{Expr(0)}}, names))[0].constants[0].value;
  }

  /// The formulas of the constants that the operators' relations speak of.
  void findFormulas(const Program& program) {
    auto primitive = lower(program);
    if (!primitive) return;
    for (const Node& node : primitive->nodes()) {
      if (!node.op->access) continue;
      std::vector<Shape> shapes;
      for (Value v : node.operands)
        shapes.push_back(primitive->shape(v));
      Index at;
      for (const Dim& d : node.shapes[0])
        at.emplace_back(d.atoms().size(), Expr::variable("v"));
      NameSource names;
      auto pieces = node.op->access({node.attributes, shapes, node.shapes}, 0, at, names);
      if (!pieces) continue;
      for (const AccessPiece& p : *pieces) {
        for (const ConstantRead& c : p.constants) {
          if (c.value) formulas_[c.key] = c.value;
        }
      }
    }
  }

  Bindings symbols_;
  const std::vector<Tensor<double>>& inputs_;
  std::vector<Extents> atoms_;
  std::map<std::string, Formula> formulas_;
  std::vector<CompiledSum> sums_;
  std::vector<CompiledApplication> applications_;
  std::string error_;
};

/// The denotation of every output against evaluation over double, with random inputs, of which some are 0.
inline testing::AssertionResult denotationIsTheValue(const Program& program,
                                                     const Bindings& symbols,
                                                     uint64_t seed = 11,
                                                     const Unfold& unfold = {}) {
  std::mt19937_64 random(seed);
  std::map<std::string, Tensor<double>> named;
  std::vector<Tensor<double>> inputs;
  for (Value v : program.inputs()) {
    inputs.push_back(randomNumbers(*evaluate(program.shape(v), symbols), random));
    for (double& x : inputs.back().data)
      x = random() % 4 == 0 ? 0 : x;
    named[program.name(v)] = inputs.back();
  }
  auto results = evaluate<double>(program, symbols, named);
  if (!results) return testing::AssertionFailure() << results.error().message();
  for (size_t o = 0; o < program.outputs().size(); ++o) {
    NameSource names;
    auto denoted = denote(program, program.outputs()[o], names, unfold);
    if (!denoted) return testing::AssertionFailure() << denoted.error().message();
    DenotationValue value(program, *denoted, symbols, inputs);
    auto result = testing::AssertionSuccess();
    eachPosition(atomExtents(program.shape(program.outputs()[o]), symbols), [&](const auto& position, size_t i) {
      double want = (*results)[o].data[i], got = value.at(position);
      bool close =
          got == want || (std::isnan(got) && std::isnan(want)) || std::abs(got - want) <= 1e-9 * (1 + std::abs(want));
      if (close && value.error().empty()) return true;
      result = testing::AssertionFailure() << "at " << str(Extents(position)) << " the denotation gives " << got
                                           << ", evaluation " << want << value.error() << "\n"
                                           << print(program);
      return false;
    });
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace pet::testing_support
