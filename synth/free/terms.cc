#include "synth/free/terms.h"

#include <algorithm>

namespace pet::freemode {
namespace {

/// Terms from which a second step is taken.
constexpr size_t kMostReached = 64;

/// Kernels of convolutions are of any extents.
bool sameColor(const Step& a, const Step& b) {
  Step x = a;
  if (a.op.kind == OperatorKind::kConv || a.op.kind == OperatorKind::kPad) x.op.kernel = b.op.kernel;
  return x.op == b.op && x.output == b.output;
}

/// Matches one side of a rule with a term, in every way.
class Matching {
 public:
  Matching(const Terms& terms, const RewriteRule& rule)
      : terms_(terms), rule_(rule), bound_(rule.equality.variables.size(), Terms::kNone) {}

  template <class Found>
  void run(Operand side, TermId term, Found found) {
    goals_ = {{side, term}};
    solve(found);
  }

 private:
  template <class Found>
  void solve(Found& found) {
    if (goals_.empty()) return found(bound_);
    auto [side, term] = goals_.back();
    goals_.pop_back();
    if (side < 0) {
      bind(variableOf(side), term, found);
    } else {
      descend(rule_.equality.nodes[static_cast<size_t>(side)], terms_[term], found);
    }
    goals_.emplace_back(side, term);
  }

  template <class Found>
  void bind(size_t v, TermId term, Found& found) {
    if (bound_[v] != Terms::kNone) {
      if (bound_[v] == term) solve(found);
      return;
    }
    const Variable& variable = rule_.equality.variables[v];
    const Terms::Term& t = terms_[term];
    if (variable.type.rank != t.type.rank || (rule_.exact && !variable.type.sameExtents(t.type))) return;
    bool isConstant = variable.constant != Constant::kNone;
    if (isConstant && (t.color != Terms::kConstant || t.step != static_cast<uint32_t>(variable.constant))) return;
    bound_[v] = term;
    solve(found);
    bound_[v] = Terms::kNone;
  }

  template <class Found>
  void descend(const EqualityNode& n, const Terms::Term& t, Found& found) {
    if (t.color != terms_.colorOf(n.step)) return;
    if (n.b == kNoOperand) {
      goals_.emplace_back(n.a, t.a);
      solve(found);
      goals_.pop_back();
      return;
    }
    bool either = terms_.isCommutative(n.step) && t.a != t.b;
    for (int order = 0; order < (either ? 2 : 1); ++order) {
      goals_.emplace_back(n.a, order == 0 ? t.a : t.b);
      goals_.emplace_back(n.b, order == 0 ? t.b : t.a);
      solve(found);
      goals_.resize(goals_.size() - 2);
    }
  }

  const Terms& terms_;
  const RewriteRule& rule_;
  std::vector<TermId> bound_;
  std::vector<std::pair<Operand, TermId>> goals_;
};

}  // namespace

Terms::Terms(const std::vector<Step>& steps) : steps_(steps) {
  for (uint32_t s = 0; s < steps.size(); ++s) {
    uint32_t first = 0;
    while (!sameColor(steps[first], steps[s]))
      ++first;
    colors_.push_back(first);
  }
}

TermId Terms::add(Term term) {
  uint64_t type = term.color == kConstant ? term.type.extentsKey() : 0;
  uint64_t number = term.color < kConstant ? 0 : mix(type ^ term.step);
  auto [it, isNew] = known_.emplace(std::tuple{term.color, number, term.a, term.b}, static_cast<TermId>(terms_.size()));
  if (isNew) terms_.push_back(std::move(term));
  return it->second;
}

TermId Terms::leaf(const Variable& v, uint32_t number) {
  if (v.constant != Constant::kNone) return add({kConstant, static_cast<uint32_t>(v.constant), kNone, kNone, v.type});
  return add({kVariable, number, kNone, kNone, v.type});
}

std::optional<TermId> Terms::apply(uint32_t step, TermId a, TermId b) {
  Step s = steps_[step];
  if (s.commutative && b < a) std::swap(a, b);
  const TensorType* types[] = {&terms_[a].type, b == kNone ? nullptr : &terms_[b].type};
  if (s.op.kind == OperatorKind::kConv) s.op.kernel = {types[1]->extents[2], types[1]->extents[3]};
  auto type = resultType(s, {types, b == kNone ? 1u : 2u}, joins_);
  if (!type) return std::nullopt;
  if (s.op.kind == OperatorKind::kConcat) joins_.note(joinOf(s, *types[0], *types[1]));
  return add({colors_[step], step, a, b, *type});
}

std::optional<TermId> Terms::of(const Equality& e, Operand side, std::vector<TermId>& variables) {
  if (variables.empty()) {
    for (size_t v = 0; v < e.variables.size(); ++v)
      variables.push_back(leaf(e.variables[v], static_cast<uint32_t>(v)));
  }
  auto build = [&](Operand o, const auto& self) -> std::optional<TermId> {
    if (o < 0) return variables[variableOf(o)];
    const EqualityNode& n = e.nodes[static_cast<size_t>(o)];
    auto a = self(n.a, self);
    auto b = n.b == kNoOperand ? std::optional(kNone) : self(n.b, self);
    if (!a || !b) return std::nullopt;
    return apply(n.step, *a, *b);
  };
  return build(side, build);
}

std::optional<TermId> Terms::replaced(TermId in, TermId from, TermId by) {
  if (in == from) return by;
  const Term t = terms_[in];
  if (t.color >= kConstant) return in;
  auto a = replaced(t.a, from, by);
  auto b = t.b == kNone ? std::optional(kNone) : replaced(t.b, from, by);
  if (!a || !b) return std::nullopt;
  return *a == t.a && *b == t.b ? in : apply(t.step, *a, *b);
}

std::vector<TermId> Terms::positions(TermId t) const {
  std::vector<TermId> all;
  auto visit = [&](TermId u, const auto& self) -> void {
    if (u == kNone || !isOperator(u) || std::find(all.begin(), all.end(), u) != all.end()) return;
    all.push_back(u);
    self(terms_[u].a, self);
    self(terms_[u].b, self);
  };
  visit(t, visit);
  return all;
}

size_t Terms::weight(TermId t) const {
  std::vector<TermId> operators = positions(t);
  std::vector<TermId> constants;
  for (TermId u : operators) {
    for (TermId o : {terms_[u].a, terms_[u].b}) {
      bool isNew = o != kNone && terms_[o].color == kConstant &&
                   std::find(constants.begin(), constants.end(), o) == constants.end();
      if (isNew) constants.push_back(o);
    }
  }
  return operators.size() + constants.size();
}

// --- Rules ---

size_t Rewriting::add(RewriteRule rule) {
  const Terms terms(steps_);
  const Equality& e = rule.equality;
  for (bool forward : {true, false}) {
    Operand from = forward ? e.left : e.right;
    if (from >= 0) byColor_[terms.colorOf(e.nodes[static_cast<size_t>(from)].step)].push_back({rules_.size(), forward});
  }
  rules_.push_back(std::move(rule));
  removed_.push_back(false);
  return rules_.size() - 1;
}

std::vector<Rewriting::Rewritten> Rewriting::rewrites(Terms& terms, TermId t) const {
  std::vector<Rewritten> all;
  for (TermId position : terms.positions(t)) {
    auto sides = byColor_.find(terms[position].color);
    if (sides == byColor_.end()) continue;
    for (const Side& side : sides->second) {
      if (removed_[side.rule]) continue;
      const RewriteRule& rule = rules_[side.rule];
      const Equality& e = rule.equality;
      std::vector<std::vector<TermId>> matches;
      Matching(terms, rule).run(side.forward ? e.left : e.right, position, [&](const std::vector<TermId>& bound) {
        matches.push_back(bound);
      });
      for (std::vector<TermId>& bound : matches) {
        bool complete = true;
        for (size_t v = 0; v < bound.size(); ++v) {
          if (bound[v] != Terms::kNone) continue;
          complete = complete && e.variables[v].constant != Constant::kNone;
          if (complete) bound[v] = terms.leaf(e.variables[v], 0);
        }
        if (!complete) continue;  // the other side reads something that this one does not
        auto by = terms.of(e, side.forward ? e.right : e.left, bound);
        auto whole = by ? terms.replaced(t, position, *by) : std::nullopt;
        if (whole && *whole != t) all.push_back({*whole, side.rule, position == t});
      }
    }
  }
  return all;
}

Rewriting::Answer Rewriting::derive(const Equality& e) const {
  Terms terms(steps_);
  std::vector<TermId> variables;
  auto left = terms.of(e, e.left, variables), right = terms.of(e, e.right, variables);
  if (!left || !right) return {};
  if (*left == *right) return {Derived::kTrivial, {}};
  for (auto [from, to] : {std::pair{*left, *right}, {*right, *left}}) {
    for (const Rewritten& r : rewrites(terms, from)) {
      if (r.term == to) return {r.atEnd ? Derived::kInstance : Derived::kConsequence, {r.rule}};
    }
  }
  Answer reduced{Derived::kChain, {}};
  TermId a = reduce(terms, *left, reduced.rules), b = reduce(terms, *right, reduced.rules);
  if (a == b) return reduced;
  size_t most = std::max(terms.positions(*left).size(), terms.positions(*right).size());
  Answer met = chain(terms, a, b, most);
  met.rules.insert(met.rules.end(), reduced.rules.begin(), reduced.rules.end());
  return met;
}

TermId Rewriting::reduce(Terms& terms, TermId t, std::vector<size_t>& rules) const {
  for (;;) {
    const Rewritten* best = nullptr;
    auto all = rewrites(terms, t);
    for (const Rewritten& r : all) {
      if (terms.weight(r.term) < terms.weight(best ? best->term : t)) best = &r;
    }
    if (!best) return t;
    rules.push_back(best->rule);
    t = best->term;
  }
}

Rewriting::Answer Rewriting::chain(Terms& terms, TermId left, TermId right, size_t most) const {
  using Reached = std::map<TermId, std::vector<size_t>>;  // by which rules
  Reached reached[2] = {{{left, {}}}, {{right, {}}}};
  std::vector<TermId> last[2] = {{left}, {right}};
  for (int step = 0; step < 2; ++step) {
    for (int side : {0, 1}) {
      std::vector<TermId> next;
      for (TermId t : last[side]) {
        for (const Rewritten& r : rewrites(terms, t)) {
          if (terms.positions(r.term).size() > most) continue;
          std::vector<size_t> rules = reached[side].at(t);
          rules.push_back(r.rule);
          if (!reached[side].emplace(r.term, rules).second) continue;
          next.push_back(r.term);
          if (auto meets = reached[1 - side].find(r.term); meets != reached[1 - side].end()) {
            rules.insert(rules.end(), meets->second.begin(), meets->second.end());
            return {Derived::kChain, std::move(rules)};
          }
        }
      }
      if (next.size() > kMostReached) next.resize(kMostReached);
      last[side] = std::move(next);
    }
  }
  return {};
}

}  // namespace pet::freemode
