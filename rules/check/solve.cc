#include "rules/check/solve.h"

#include <new>

#include <fmt/format.h>
#include <z3++.h>

namespace pet::check {
namespace {

/// All questions of one rule together: so many times what one may take.
constexpr uint64_t kMostOfAll = 10;

/// No verdict may depend on memory: std::bad_alloc if that is what z3 says.
void throwIfOutOfMemory(std::string_view message) {
  for (std::string_view word : {"memory", "memout"}) {
    if (message.find(word) != std::string_view::npos) throw std::bad_alloc();
  }
}

}  // namespace

struct Solver::State {
  /// z3's context, which z3::context does not test.
  class Context {
   public:
    Context() : made_(Z3_mk_context_rc(z3::config())), context_(made_ ? made_ : throw std::bad_alloc()) {}
    ~Context() { Z3_del_context(made_); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    z3::context& get() { return context_(); }

   private:
    Z3_context made_;
    z3::scoped_context context_;
  };

  Context made;
  z3::context& context = made.get();
  z3::solver solver;
  unsigned steps;
  uint64_t used = 0;  ///< steps of all questions so far
  std::map<std::string, z3::expr> variables;
  /// The quotient of each division in use: floor(e / k) = q with 0 <= e - k·q < k.
  std::map<Expr, z3::expr> quotients;
  /// Of every constraint so far: questions have most of theirs in common, and say many of them several times.
  std::map<Constraint, z3::expr> constraints;

  explicit State(unsigned limit) : solver(context, z3::solver::simple()), steps(limit) {
    z3::params params(context);
    params.set("rlimit", limit);
    solver.set(params);
  }

  z3::expr variable(const std::string& name) {
    auto it = variables.find(name);
    if (it == variables.end()) it = variables.emplace(name, context.int_const(name.c_str())).first;
    return it->second;
  }

  z3::expr quotient(const Expr::Term& term) {
    Expr key = floorDiv(term.division->numerator, term.division->divisor);
    auto it = quotients.find(key);
    if (it != quotients.end()) return it->second;
    z3::expr e = translate(term.division->numerator);
    z3::expr q = context.int_const(fmt::format("floor {}", key.str()).c_str());
    z3::expr rest = e - number(term.division->divisor) * q;
    // Holds for one q whatever e is, so it may stand beside any question.
    solver.add(rest >= 0 && rest < number(term.division->divisor));
    quotients.emplace(key, q);
    return q;
  }

  z3::expr number(int64_t value) { return context.int_val(value); }

  z3::expr translate(const Expr& e) {
    z3::expr_vector sum(context);
    sum.push_back(number(e.constant()));
    for (const auto& [term, coefficient] : e.terms()) {
      z3::expr t = term.division ? quotient(term) : variable(term.name);
      sum.push_back(coefficient == 1 ? t : number(coefficient) * t);
    }
    return z3::sum(sum);
  }

  z3::expr translate(const Constraint& c) {
    auto it = constraints.find(c);
    if (it != constraints.end()) return it->second;
    z3::expr e = translate(c.expr);
    return constraints.emplace(c, c.kind == Constraint::Kind::kZero ? e == 0 : e >= 0).first->second;
  }

  z3::expr translate(const Formula& f) {
    switch (f.kind) {
      case Formula::Kind::kTrue:
      case Formula::Kind::kFalse:
        return context.bool_val(f.kind == Formula::Kind::kTrue);
      case Formula::Kind::kConstraint:
        return translate(f.constraint);
      case Formula::Kind::kNot:
        return !translate(f.parts.front());
      case Formula::Kind::kAnd:
      case Formula::Kind::kOr:
        break;
    }
    z3::expr_vector parts(context);
    for (const Formula& p : f.parts)
      parts.push_back(translate(p));
    return f.kind == Formula::Kind::kAnd ? z3::mk_and(parts) : z3::mk_or(parts);
  }

  /// One question; for sat, the witness has values of what the formulas speak of. `bound` > 0 keeps them within
  /// [-bound, bound].
  std::pair<z3::check_result, std::optional<Bindings>> ask(const z3::expr& question,
                                                           const std::vector<const Formula*>& formulas,
                                                           int64_t bound) {
    solver.push();
    solver.add(question);
    if (bound) {
      for (const std::string& n : namesOf(formulas))
        solver.add(variable(n) <= number(bound) && variable(n) >= number(-bound));
    }
    z3::check_result result = solver.check();
    countSteps();
    std::optional<Bindings> witness = result == z3::sat ? model(namesOf(formulas)) : std::nullopt;
    solver.pop();
    return {result, std::move(witness)};
  }

  static std::set<std::string> namesOf(const std::vector<const Formula*>& formulas) {
    std::set<std::string> names;
    for (const Formula* f : formulas)
      f->collectVariables(names);
    return names;
  }

  void countSteps() {
    z3::stats all = solver.statistics();
    for (unsigned i = 0; i < all.size(); ++i) {
      if (all.key(i) == "rlimit count" && all.is_uint(i)) used = all.uint_value(i);
    }
  }

  /// The model's values of `names`; 0 where it does not care. Nullopt if one does not fit 64 bits.
  std::optional<Bindings> model(const std::set<std::string>& names) {
    z3::model m = solver.get_model();
    Bindings values;
    for (const std::string& name : names) {
      int64_t value = 0;
      if (!m.eval(variable(name), true).is_numeral_i64(value)) return std::nullopt;
      values[name] = value;
    }
    return values;
  }
};

Solver::Solver(const std::vector<Constraint>& base, unsigned steps) try
    : state_(std::make_unique<State>(steps)), base_(Formula::all(base)) {
  for (const Constraint& c : base)
    known_.insert(canonical(c));
  state_->solver.add(state_->translate(base_));
} catch (const z3::exception& e) {
  throwIfOutOfMemory(e.msg());
}

Solver::~Solver() = default;

Answer Solver::implies(const Formula& given, const Formula& goal) {
  std::set<Constraint> known = known_;
  if (given.kind == Formula::Kind::kConstraint) known.insert(given.constraint);
  if (given.kind == Formula::Kind::kAnd) {
    for (const Formula& p : given.parts) {
      if (p.kind == Formula::Kind::kConstraint) known.insert(p.constraint);
    }
  }
  Formula open = goal.given(known);
  if (open.isTrue() || given.kind == Formula::Kind::kFalse) return {Verdict::kProved, {}, ""};

  if (state_->used > kMostOfAll * state_->steps) {
    return {
        Verdict::kUnknown, {}, fmt::format("the solver gave up within {} steps for all", kMostOfAll * state_->steps)};
  }
  ++queries_;
  try {
    // Translated before the push: the quotients' definitions stay.
    z3::expr question = state_->translate(given) && !state_->translate(open);
    const std::vector<const Formula*> all{&base_, &given, &goal};
    auto [result, witness] = state_->ask(question, all, 0);
    if (result == z3::unsat) return {Verdict::kProved, {}, ""};
    if (result == z3::unknown) {
      throwIfOutOfMemory(state_->solver.reason_unknown());
      return {Verdict::kUnknown, {}, fmt::format("the solver gave up within {} steps", state_->steps)};
    }
    // A witness that a person can follow is worth more questions.
    for (int64_t bound : {4, 12, 40}) {
      auto smaller = state_->ask(question, all, bound);
      if (smaller.first != z3::sat) continue;
      witness = std::move(smaller.second);
      break;
    }
    bool confirmed = witness && base_.evaluate(*witness) == true && given.evaluate(*witness) == true &&
                     goal.evaluate(*witness) == false;
    if (!confirmed) return {Verdict::kUnknown, {}, "the solver's counter-example does not evaluate to one"};
    return {Verdict::kRefuted, std::move(*witness), ""};
  } catch (const z3::exception& e) {
    throwIfOutOfMemory(e.msg());
    return {Verdict::kUnknown, {}, fmt::format("solver: {}", e.msg())};
  } catch (const OverflowError& e) {
    return {Verdict::kUnknown, {}, e.what()};
  }
}

}  // namespace pet::check
