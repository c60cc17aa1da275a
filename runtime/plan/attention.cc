#include "runtime/plan/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pet::plan {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// The only number of a constant.
std::optional<double> numberOf(const Planner& p, Value v) {
  if (!p.isConstant(v) || elementCount(p.extents(v)) != 1) return std::nullopt;
  return p.constant(v)->data[0];
}

/// Goes from the last product to the first, along what is read once.
class Finder {
 public:
  explicit Finder(const Planner& planner) : p_(planner) {}

  std::optional<Attention> find(int n) {
    const Node& last = p_.node(n);
    if (!last.is(ops::kMatMul)) return std::nullopt;
    found_.y = {n, 0};
    found_.v = last.operands[1];
    const Value weights = last.operands[0];
    const Extents scores = p_.extents(weights);
    if (scores.size() < 2 || p_.extents(found_.v).size() < 2 || !isInner(weights) ||
        !p_.node(weights.node).is(ops::kSoftmax))
      return std::nullopt;
    if (p_.scalar(weights.node, "axis") != static_cast<int64_t>(scores.size()) - 1) return std::nullopt;
    if (!findProduct(p_.node(weights.node).operands[0], 1)) return std::nullopt;
    takeScale(found_.q);
    takeScale(found_.k);
    if (!std::isfinite(found_.scale)) return std::nullopt;
    found_.members.insert(found_.members.end(), {weights.node, n});
    std::sort(found_.members.begin(), found_.members.end());
    return std::move(found_);
  }

 private:
  bool isInner(Value v) const { return !p_.isConstant(v) && p_.isReadOnce(v.node); }

  /// The scores' product behind `v`, of which `factor` times the value is read.
  bool findProduct(Value v, double factor) {
    if (!isInner(v)) return false;
    const Node& node = p_.node(v.node);
    bool done = false;
    if (node.is(ops::kMatMul)) {
      if (p_.extents(node.operands[0]).size() < 2 || p_.extents(node.operands[1]).size() < 2) return false;
      found_.q = node.operands[0];
      found_.k = node.operands[1];
      found_.scale *= factor;
      done = true;
    } else if (node.is(ops::kMul) || node.is(ops::kDiv)) {
      done = passScale(v, factor);
    } else if (node.is(ops::kAdd)) {
      done = passTerm(node, v, factor, 0) || passTerm(node, v, factor, 1);
    } else if (node.is(ops::kWhere)) {
      done = passCondition(node, v, factor, 1) || passCondition(node, v, factor, 2);
    }
    if (done) found_.members.push_back(v.node);
    return done;
  }

  bool passScale(Value v, double factor) {
    const auto scaled = scaledBy(v);
    return scaled && findProduct(scaled->operand, scaled->times(factor));
  }

  bool passTerm(const Node& node, Value v, double factor, size_t scores) {
    if (!keepsExtents(node.operands[scores], v) || !findProduct(node.operands[scores], factor)) return false;
    found_.terms.push_back({node.operands[1 - scores], factor, Attention::Term::Kind::kNumbers});
    return true;
  }

  bool passCondition(const Node& node, Value v, double factor, size_t scores) {
    const auto hidden = numberOf(p_, node.operands[3 - scores]);
    if (!hidden || *hidden != kHidden || factor <= 0 || !keepsExtents(node.operands[scores], v)) return false;
    if (!findProduct(node.operands[scores], factor)) return false;
    using Kind = Attention::Term::Kind;
    found_.terms.push_back({node.operands[0], 1, scores == 1 ? Kind::kHiddenWhereFalse : Kind::kHiddenWhereTrue});
    return true;
  }

  bool keepsExtents(Value operand, Value result) const { return p_.extents(operand) == p_.extents(result); }

  /// q or k without factors that are one number each.
  void takeScale(Value& v) {
    while (isInner(v)) {
      const auto scaled = scaledBy(v);
      if (!scaled) return;
      found_.scale = scaled->times(found_.scale);
      found_.members.push_back(v.node);
      v = scaled->operand;
    }
  }

  /// A value of an operand's extents that is that operand by one number.
  struct Scaled {
    Value operand;
    double by;
    bool divides;
    double times(double x) const { return divides ? x / by : x * by; }
  };
  std::optional<Scaled> scaledBy(Value v) const {
    const Node& node = p_.node(v.node);
    const bool divides = node.is(ops::kDiv);
    if (!divides && !node.is(ops::kMul)) return std::nullopt;
    for (size_t i = 0; i < (divides ? 1U : 2U); ++i) {
      const auto by = numberOf(p_, node.operands[1 - i]);
      if (by && keepsExtents(node.operands[i], v)) return Scaled{node.operands[i], *by, divides};
    }
    return std::nullopt;
  }

  const Planner& p_;
  Attention found_;
};

}  // namespace

std::optional<Attention> attentionAt(const Planner& planner, int n) {
  return Finder(planner).find(n);
}

Extents extentsOfTerms(const Planner& planner, const Attention& attention) {
  const Extents q = planner.extents(attention.q), k = planner.extents(attention.k);
  Extents all;
  for (const Attention::Term& term : attention.terms) {
    const Extents extents = planner.extents(term.value);
    if (extents.size() > all.size()) all.insert(all.begin(), extents.size() - all.size(), 1);
    for (size_t d = 0; d < extents.size(); ++d) {
      int64_t& extent = all[all.size() - extents.size() + d];
      extent = std::max(extent, extents[d]);
    }
  }
  all.insert(all.begin(), all.size() < 2 ? 2 - all.size() : 0, 1);
  all[all.size() - 2] = q[q.size() - 2];
  all.back() = k.back();
  return all;
}

Tensor<float> constantTerms(const Planner& planner, const Attention& attention) {
  Tensor<float> sum(extentsOfTerms(planner, attention));
  for (const Attention::Term& term : attention.terms) {
    const Tensor<float>& numbers = *planner.constant(term.value);
    const Access read = broadcast(rowMajor(numbers.extents), sum.extents);
    std::vector<const std::vector<int64_t>*> tables;
    for (const auto& table : read.tables)
      tables.push_back(&table);
    const auto positions = merged(tables);
    using Kind = Attention::Term::Kind;
    for (size_t i = 0; i < positions.size(); ++i) {
      const double x = numbers.data[static_cast<size_t>(positions[i])];
      const bool hides = term.kind == Kind::kHiddenWhereTrue ? x != 0 : x == 0;
      const double added = term.kind == Kind::kNumbers ? term.factor * x : hides ? kHidden : 0;
      sum.data[i] = static_cast<float>(sum.data[i] + added);
    }
  }
  return sum;
}

}  // namespace pet::plan
