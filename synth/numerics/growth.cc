#include "synth/numerics/growth.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/resize.h"
#include "synth/numerics/magnitudes.h"
#include "synth/numerics/pieces.h"
#include "synth/numerics/table_growth.h"

namespace pet {
namespace {

/// The coefficients of a sum's terms, added up by what is multiplied and where, in a form in which names do not matter.
/// Where an activation is read does not matter either, nor that it is within its tensor: one bound holds for all of
/// them.
using Terms = std::map<std::string, double>;

std::string text(const std::vector<Expr>& list, const std::map<std::string, Expr>& by) {
  std::string result;
  for (const Expr& e : list)
    result += e.substitute(by).str() + ",";
  return result;
}

/// The inputs that are activations, by number: the extents of their digits.
using Activations = std::map<int, std::vector<Expr>>;

/// Whether the condition says of an activation that it is read within its tensor: near borders some are missing.
bool isOfBorder(const Constraint& c, const Piece& piece, const Activations& activations) {
  return std::any_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& f) {
    auto read = f.kind == Factor::Kind::kInput ? activations.find(f.number) : activations.end();
    if (read == activations.end()) return false;
    for (size_t d = 0; d < f.at.size(); ++d) {
      if (c == Constraint::le(0, f.at[d]) || c == Constraint::lt(f.at[d], read->second[d])) return true;
    }
    return false;
  });
}

std::string product(const Sum& sum, const Piece& piece, const Activations& activations) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < piece.reduction.size(); ++i)
    by[piece.reduction[i]] = Expr::variable("_" + std::to_string(i));
  std::vector<std::string> domain;
  for (const Constraint& c : piece.domain) {
    const bool holds = std::find(sum.range.begin(), sum.range.end(), c) != sum.range.end();
    if (!holds && !isOfBorder(c, piece, activations)) domain.push_back(c.substitute(by).str());
  }
  std::sort(domain.begin(), domain.end());
  std::string result = std::to_string(piece.reduction.size()) + ":";
  for (const std::string& c : domain)
    result += c + ";";
  for (const Factor& f : piece.factors) {
    if (numberOf(f)) continue;
    bool moves =
        f.kind == Factor::Kind::kApplication || (f.kind == Factor::Kind::kInput && activations.contains(f.number));
    result += fmt::format("|{} {} {} {}@{}", static_cast<int>(f.kind), f.number, f.key, text(f.parameters, by),
                          moves ? "" : text(f.at, by));
  }
  return result;
}

Terms termsOf(const Sum& sum, const Activations& activations) {
  Terms result;
  for (const Piece& p : sum.pieces)
    result[product(sum, p, activations)] += magnitudeOf(p);
  return result;
}

/// The largest ratio of a term before to the same term after; nullopt: there is none after.
std::optional<double> ratio(const Terms& before, const Terms& after) {
  double most = 1;
  for (const auto& [what, size] : before) {
    auto it = after.find(what);
    if (it == after.end()) return std::nullopt;
    most = std::max(most, size / it->second);
  }
  return most;
}

class Growth {
 public:
  explicit Growth(const Program& program) : program_(program) {
    auto inputs = program.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto number = static_cast<int>(i);
      if (isConstant(program, inputs[i])) {
        weights_.insert(number);
        continue;
      }
      for (const Dim& d : program.shape(inputs[i]))
        activations_[number].insert(activations_[number].end(), d.atoms().begin(), d.atoms().end());
    }
  }

  std::optional<double> run() {
    double ofCubics = 1;
    for (const Node& n : program_.nodes()) {
      auto growth = ofCubic(n);
      if (!growth) return std::nullopt;
      ofCubics *= *growth;
    }
    auto kept = magnitudesOf(program_, SignedTables::kKept), split = magnitudesOf(program_, SignedTables::kAsInputs);
    if (!kept || !split) return std::nullopt;
    double most = 1;
    for (Value v : lookedAt()) {
      if (!split->differs(v)) continue;  // nothing is subtracted
      auto growth = ofValue(v, *kept, *split);
      if (!growth) return std::nullopt;
      most = std::max(most, *growth);
    }
    return most * ofCubics;
  }

 private:
  const Program& program_;
  std::set<int> weights_;  ///< inputs that are constant
  Activations activations_;

  /// Rows of the matrix of a cubic Resize add up to 1 and have negative numbers, so what is left where they add up is
  /// smaller than what was added. A row at t from its second position has the numbers a t (1 - t)² and a t² (1 - t) at
  /// its ends, and positive ones between, 1 - a t (1 - t) together: 1 - 2 a t (1 - t) <= 1 - a/2 in absolute values.
  std::optional<double> ofCubic(const Node& n) const {
    if (!n.is(ops::kResize) || n.text("mode") != "cubic") return 1;
    const double a = n.number("cubic_coeff_a");
    if (!(-1 <= a && a <= 0)) return std::nullopt;
    const OpView resize{n.attributes, {&program_.shape(n.operands[0]), 1}, n.shapes};
    double growth = 1;
    for (size_t d = 0; d < n.shapes[0].size(); ++d)
      growth *= keeps(resize, d) ? 1 : 1 - a / 2;
    return growth;
  }

  std::set<Value> lookedAt() const {
    std::set<Value> result(program_.outputs().begin(), program_.outputs().end());
    for (const Node& n : program_.nodes()) {
      if (n.op->meaning != Meaning::kSum) result.insert(n.operands.begin(), n.operands.end());
    }
    return result;
  }

  std::optional<double> ofValue(Value v, const Magnitudes& kept, const Magnitudes& split) const {
    double signs = 1;
    if (kept.differs(v)) {
      auto after = denotationOf(program_, v), before = denotationOf(kept.program, kept.magnitude.at(v));
      auto most = after && before ? ratio(termsOf(*before, activations_), termsOf(*after, activations_)) : std::nullopt;
      if (!most) return std::nullopt;
      signs = *most;
    }
    auto tables = split.tables.empty() ? std::optional(1.0) : ofTables(v, split);
    return tables ? std::optional(signs * *tables) : std::nullopt;
  }

  std::optional<double> ofTables(Value v, const Magnitudes& split) const {
    auto terms = denotationOf(split.program, split.magnitude.at(v));
    if (!terms) return std::nullopt;
    PieceReaders readers{static_cast<int>(split.inputs), weights_};
    double most = 1;
    for (const Piece& piece : terms->pieces) {
      bool reads = std::any_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& f) {
        return f.kind == Factor::Kind::kInput && f.number >= readers.firstTable;
      });
      if (!reads) continue;
      auto growth = tableGrowth(piece, split.tables, readers);
      if (!growth || (growth->cancels && terms->pieces.size() > 1)) return std::nullopt;
      most = std::max(most, growth->ratio);
    }
    return most;
  }
};

}  // namespace

std::optional<double> growthOf(const Program& program) {
  return Growth(program).run();
}

}  // namespace pet
