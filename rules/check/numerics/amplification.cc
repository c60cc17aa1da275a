#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/check/meaning/function.h"
#include "rules/check/numerics/numerics.h"

// How much is added up to be taken away again.
namespace pet::check {
namespace {

/// Its numbers may cancel each other.
bool isMixed(const Node& table) {
  bool below = false, above = false;
  for (const Expr& e : table.list("values")) {
    below = below || e.constant() < 0;
    above = above || e.constant() > 0;
  }
  return below && above;
}

/// A program with, beside every value, the one in which nothing is subtracted. What functions and maxima are taken of
/// stays as it is.
class Unsigned {
 public:
  /// `open`: tables with numbers of both signs become inputs.
  Unsigned(const Program& program, bool open) : open_(open) {
    for (Value v : program.inputs())
      values_[v] = {builder_.input(program.name(v), program.shape(v), isConstant(program, v)), {}};
    for (auto& [v, both] : values_)
      both.second = both.first;
    firstTable = static_cast<int>(values_.size());
    for (size_t n = 0; n < program.nodes().size(); ++n) {
      const Node& node = program.nodes()[n];
      if (opOf(node) == "Input") continue;
      auto [plain, size] = both(node);
      for (int o = 0; o < static_cast<int>(node.shapes.size()); ++o)
        values_[{static_cast<int>(n), o}] = {{plain.node, plain.output + o}, {size.node, size.output + o}};
    }
    program_ = std::move(builder_).finish({});
  }

  /// Whether something is subtracted on the way to the value.
  bool subtracts(Value v) const { return values_.at(v).first != values_.at(v).second; }
  Sum sum(Value v) const { return meaningAt(program_, values_.at(v).second).sums[0]; }

  int firstTable = 0;
  std::vector<Attributes> tables;

 private:
  const bool open_;
  ProgramBuilder builder_;
  Program program_;
  std::map<Value, std::pair<Value, Value>> values_;

  Value make(std::string_view op, std::vector<Value> operands, Attributes attributes) {
    auto made = builder_.add(op, std::move(operands), std::move(attributes));
    if (!made) throw Opaque(made.error().what);
    return *made;
  }

  std::pair<Value, Value> both(const Node& node) {
    std::vector<Value> as, without;
    for (Value v : node.operands) {
      as.push_back(values_.at(v).first);
      without.push_back(values_.at(v).second);
    }
    std::string_view op = opOf(node);
    Value plain = make(op, as, node.attributes);
    if (functionOf(op) || isMaximum(op)) return {plain, plain};
    if (op == "Table" && isMixed(node)) return {plain, open_ ? table(node) : plain};
    if (op == "Sub") return {plain, make("Add", without, {})};
    if (op == "Neg") return {plain, make("Identity", without, {})};
    Attributes attributes = node.attributes;
    for (const char* number : {"alpha", "beta", "value"}) {
      auto it = attributes.find(number);
      if (it == attributes.end() || !std::holds_alternative<double>(it->second)) continue;
      double value = std::get<double>(it->second);
      if (std::isfinite(value)) it->second = std::abs(value);
    }
    if (op == "Table") {
      for (Expr& e : std::get<std::vector<Expr>>(attributes.find("values")->second))
        e = std::abs(e.constant());
    }
    bool same = without == as && attributes == node.attributes;
    return {plain, same ? plain : make(op, without, std::move(attributes))};
  }

  Value table(const Node& node) {
    tables.push_back(node.attributes);
    return builder_.input(fmt::format("numbers {}", tables.size()), node.shapes[0], true);
  }
};

/// The conditions under which a piece's activations lie within the program's inputs: next to borders some are missing,
/// but what is left there is less than what bounds it.
std::set<Constraint> withinInputs(const Program& program, const Piece& piece, const std::set<int>& weights) {
  std::set<Constraint> result;
  const std::vector<Value> inputs = program.inputs();
  for (const Factor& f : piece.factors) {
    if (f.kind != Factor::Kind::kInput || weights.contains(f.number)) continue;
    size_t digit = 0;
    for (const Dim& dim : program.shape(inputs[static_cast<size_t>(f.number)])) {
      for (const Expr& extent : dim.atoms()) {
        result.insert(Constraint::le(0, f.at[digit]));
        result.insert(Constraint::lt(f.at[digit], extent));
        ++digit;
      }
    }
  }
  return result;
}

/// Coefficients by product, of which the positions of activations are not looked at: they are all bounded alike.
std::map<std::vector<std::string>, double> totals(const Program& program,
                                                  const Sum& sum,
                                                  const std::set<int>& weights) {
  std::map<std::vector<std::string>, double> result;
  for (const Piece& piece : sum.pieces) {
    std::map<std::string, Expr> places;
    for (size_t i = 0; i < piece.reduction.size(); ++i)
      places.emplace(piece.reduction[i], Expr::variable(fmt::format("#{}", i)));
    auto listed = [&](const std::vector<Expr>& all) {
      std::vector<std::string> texts;
      for (const Expr& e : all)
        texts.push_back(e.substitute(places).str());
      return fmt::format("[{}]", fmt::join(texts, ", "));
    };
    std::vector<std::string> product;
    std::set<Constraint> within = withinInputs(program, piece, weights);
    within.insert(sum.range.begin(), sum.range.end());
    for (const Constraint& c : piece.domain) {
      if (!within.contains(c)) product.push_back(c.substitute(places).str());
    }
    std::sort(product.begin(), product.end());
    product.push_back(std::to_string(piece.reduction.size()));
    for (const Factor& f : piece.factors) {
      if (plainNumber(f)) continue;
      bool fixed = f.kind == Factor::Kind::kConstant || (f.kind == Factor::Kind::kInput && weights.contains(f.number));
      product.push_back(fmt::format("{} {} {} {} {}", static_cast<int>(f.kind), f.number, f.key, listed(f.parameters),
                                    fixed ? listed(f.at) : "anywhere"));
    }
    result[product] += weightOf(piece);
  }
  return result;
}

/// Whether the piece reads an input that stands for a table.
bool readsFrom(const Piece& piece, int first) {
  return std::any_of(piece.factors.begin(), piece.factors.end(),
                     [&](const Factor& f) { return f.kind == Factor::Kind::kInput && f.number >= first; });
}

/// Of tables, before what they have in common is summed.
std::optional<double> ofTables(const Unsigned& open, Value v, const std::set<int>& weights) {
  const std::vector<Piece> pieces = open.sum(v).pieces;
  double most = 1;
  for (const Piece& piece : pieces) {
    if (!readsFrom(piece, open.firstTable)) continue;
    auto sum = amplificationOf(piece, open.tables, open.firstTable, weights);
    if (!sum || (sum->hasNegatives && pieces.size() > 1)) return std::nullopt;
    most = std::max(most, sum->factor);
  }
  return most;
}

/// Of everything else: what is left against what there was.
std::optional<double> ofSigns(const Program& program, const Unsigned& positive, Value v, const std::set<int>& weights) {
  auto left = totals(program, meaningAt(program, v).sums[0], weights);
  double most = 1;
  for (const auto& [product, total] : totals(program, positive.sum(v), weights)) {
    auto rest = left.find(product);
    if (rest == left.end()) return std::nullopt;
    most = std::max(most, total / rest->second);
  }
  return most;
}

/// The four numbers of a cubic interpolation add up to 1, and the outer ones are <= 0: their absolute values add up to
/// at most 1 + |a| / 2 along each axis, reached in the middle between two positions.
std::optional<double> ofInterpolation(const Program& program, const Node& node) {
  if (opOf(node) != "Resize" || node.text("mode") != "cubic") return 1;
  const double coefficient = node.number("cubic_coeff_a");
  if (coefficient < -1 || coefficient > 0) return std::nullopt;
  double most = 1;
  const auto& given = node.list("scales");
  for (size_t d = 0; d < node.shapes[0].size(); ++d) {
    bool isKept =
        program.shape(node.operands[0])[d] == node.shapes[0][d] && (given.empty() || given[2 * d] == given[2 * d + 1]);
    if (!isKept) most *= 1 + std::abs(coefficient) / 2;
  }
  return most;
}

}  // namespace

std::optional<double> plainNumber(const Factor& f) {
  double number = 0;
  bool alone = f.kind == Factor::Kind::kConstant && f.at.empty() && f.parameters.empty();
  auto read = std::from_chars(f.key.data(), f.key.data() + f.key.size(), number);
  if (!alone || read.ec != std::errc() || read.ptr != f.key.data() + f.key.size()) return std::nullopt;
  return number;
}

double weightOf(const Piece& piece) {
  double weight = std::abs(static_cast<double>(piece.coefficient.over)) / static_cast<double>(piece.coefficient.under);
  for (const Factor& f : piece.factors) {
    if (auto number = plainNumber(f)) weight *= std::abs(*number);
  }
  return weight;
}

Meaning meaningAt(const Program& program, Value value) {
  Names names;
  auto meaning = meaningOf(ProgramBuilder(program).finish({value}), 0, names);
  if (!meaning) throw Opaque(meaning.error().message());
  return std::move(*meaning);
}

std::optional<double> amplification(const Program& program) {
  std::set<int> weights;
  std::set<Value> sums(program.outputs().begin(), program.outputs().end());
  int number = 0;
  double ofRows = 1;
  for (Value v : program.inputs()) {
    if (isConstant(program, v)) weights.insert(number);
    ++number;
  }
  for (const Node& node : program.nodes()) {
    auto rows = ofInterpolation(program, node);
    if (!rows) return std::nullopt;
    ofRows *= *rows;
    if (functionOf(opOf(node)) || isMaximum(opOf(node))) sums.insert(node.operands.begin(), node.operands.end());
  }
  Unsigned closed(program, false), open(program, true);
  double most = 1;
  for (Value v : sums) {
    if (!open.subtracts(v)) continue;
    auto tables = open.tables.empty() ? 1.0 : ofTables(open, v, weights);
    auto signs = closed.subtracts(v) ? ofSigns(program, closed, v, weights) : 1.0;
    if (!tables || !signs) return std::nullopt;
    most = std::max(most, *signs * *tables);
  }
  return most * ofRows;
}

}  // namespace pet::check
