#include "synth/propose/skeletons/closed_form.h"

#include <fmt/format.h>

namespace pet {
namespace {

/// 0 <= e < extent.
void inRange(const Expr& e, const Expr& extent, poly::Conjunction& into) {
  into.push_back(Constraint::le(0, e));
  into.push_back(Constraint::lt(e, extent));
}

class ClosedForm {
 public:
  ClosedForm(const poly::Context& context, const std::vector<LayoutAxis>& slot, poly::Set relation)
      : context_(context), relation_(std::move(relation)) {
    for (const LayoutAxis& a : slot)
      know(a);
  }

  /// The next digit behind those that are known: nullopt where it is a function by pieces.
  std::optional<Expr> next(const Expr& extent, size_t behind, std::vector<LayoutAxis>& summed) {
    int n = static_cast<int>(known_.size());
    poly::Map map = relation_.firstVariables(n + 1).asMap(n);
    if (!map.isSingleValued()) {
      summed.push_back({fmt::format("k{}", summed.size()), Dim(extent)});
      know(summed.back());
      return Expr::variable(summed.back().name);
    }
    auto pieces = map.function(known_, map.domain());
    for (const auto& p : pieces) {
      if (p.image != pieces[0].image) return std::nullopt;
    }
    Expr at = pieces[0].image[0];
    inRange(at, extent, inside_);
    forget(at, behind);
    return at;
  }

  /// What of the relation does not follow from ranges, as disjoint conjunctions.
  std::vector<poly::Conjunction> guards() const {
    poly::Set implied = context_.set(known_, inside_);
    auto conjunctions = relation_.closed().constraints(known_, implied);
    if (conjunctions.size() <= 1) return conjunctions;
    conjunctions.clear();
    for (const poly::Set& piece : relation_.closed().disjointPieces()) {
      for (poly::Conjunction& c : piece.constraints(known_, implied))
        conjunctions.push_back(std::move(c));
    }
    return conjunctions;
  }

 private:
  void know(const LayoutAxis& a) {
    known_.push_back(a.name);
    inRange(Expr::variable(a.name), a.extent.affine(), inside_);
  }

  /// Leaves out the digit behind the known ones, which is `at` of them.
  void forget(const Expr& at, size_t behind) {
    std::vector<std::string> variables = known_;
    for (size_t i = 0; i < behind; ++i)
      variables.push_back(fmt::format("w'{}", i));
    std::vector<Expr> digits;
    for (const std::string& v : variables)
      digits.push_back(Expr::variable(v));
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(known_.size()), at);
    relation_ = context_.pullBack(relation_, variables, digits);
  }

  const poly::Context& context_;
  poly::Set relation_;  ///< over the known digits, then those that are not yet
  std::vector<std::string> known_;
  poly::Conjunction inside_;
};

/// Nullopt where a digit is a function by pieces.
std::optional<std::vector<WeightTerm>> formOf(const poly::Context& context,
                                              const std::vector<LayoutAxis>& slot,
                                              const poly::Set& relation,
                                              const Rational& coefficient,
                                              const std::vector<WeightDigits>& weights) {
  ClosedForm form(context, slot, relation);
  WeightTerm term{coefficient, {}, {}, {}};
  size_t behind = 0;
  for (const WeightDigits& w : weights)
    behind += w.extents.size();
  for (const WeightDigits& w : weights) {
    term.factors.push_back({w.input, {}});
    for (const Expr& extent : w.extents) {
      auto at = form.next(extent, --behind, term.summed);
      if (!at) return std::nullopt;
      term.factors.back().at.push_back(*at);
    }
  }
  std::vector<WeightTerm> terms;
  for (poly::Conjunction& guards : form.guards()) {
    terms.push_back(term);
    terms.back().guards = std::move(guards);
  }
  return terms;
}

}  // namespace

tl::expected<std::vector<WeightTerm>, std::string> closedForm(const poly::Context& context,
                                                              const std::vector<LayoutAxis>& slot,
                                                              const poly::Map& relation,
                                                              const Rational& coefficient,
                                                              const std::vector<WeightDigits>& weights) {
  poly::Set pairs = relation.asSet();
  if (auto terms = formOf(context, slot, pairs, coefficient, weights)) return std::move(*terms);
  std::vector<WeightTerm> all;
  for (const poly::Set& piece : pairs.closed().disjointPieces()) {
    auto terms = formOf(context, slot, piece, coefficient, weights);
    if (!terms) return tl::unexpected(std::string("the weight of a slot is piecewise"));
    all.insert(all.end(), terms->begin(), terms->end());
  }
  return all;
}

}  // namespace pet
