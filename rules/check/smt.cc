#include "rules/check/smt.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <z3.h>

#include "rules/check/claim.h"

namespace pet {
namespace check {
namespace {

/// A line's worth of a comment.
std::string comment(const std::string& text) {
  std::string line = "; " + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "\n";
}

/// Names of symbols and indices as they are, but for those that may be SMT-LIB's own (words of small letters) and
/// those that hold a ': between bars they are symbols in any case.
std::string symbol(const std::string& name) {
  bool plain = name.find('\'') == std::string::npos;
  bool isWord = std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return plain && !isWord ? name : "|pet " + name + "|";
}

std::string numeral(int64_t n) {
  return n < 0 ? fmt::format("(- {})", fmt::format("{}", n).substr(1)) : fmt::format("{}", n);
}

/// Writes formulas; floor(e / k) is a quotient q with k q <= e < k q + k.
class Scope {
 public:
  /// `outer` has been declared already.
  explicit Scope(std::set<std::string> outer) : declared_(std::move(outer)) {}

  std::string text(const Formula& f) {
    switch (f.kind) {
      case Formula::Kind::kTrue:
      case Formula::Kind::kFalse:
        return f.kind == Formula::Kind::kTrue ? "true" : "false";
      case Formula::Kind::kConstraint:
        return fmt::format("({} {} 0)",
                           f.constraint.kind == Constraint::Kind::kZero ? "=" : ">=", text(f.constraint.expr));
      case Formula::Kind::kNot:
        return fmt::format("(not {})", text(f.parts.front()));
      case Formula::Kind::kAnd:
      case Formula::Kind::kOr:
        break;
    }
    std::string all = f.kind == Formula::Kind::kAnd ? "(and" : "(or";
    for (const Formula& p : f.parts)
      all += " " + text(p);
    return all + ")";
  }

  /// Declarations of all that the texts so far speak of, and what the quotients are. Forgets them.
  std::string declarations() { return std::exchange(declarations_, ""); }

 private:
  std::set<std::string> declared_;
  std::map<Expr, std::string> quotients_;
  std::string declarations_;

  std::string text(const Expr& e) {
    std::vector<std::string> addends;
    for (const auto& [term, coefficient] : e.terms()) {
      std::string t = term.division ? quotient(term) : variable(term.name);
      addends.push_back(coefficient == 1 ? t : fmt::format("(* {} {})", numeral(coefficient), t));
    }
    if (e.constant() != 0 || addends.empty()) addends.push_back(numeral(e.constant()));
    return addends.size() == 1 ? addends[0] : fmt::format("(+ {})", fmt::join(addends, " "));
  }

  std::string variable(const std::string& name) {
    if (declared_.insert(name).second) declarations_ += fmt::format("(declare-const {} Int)\n", symbol(name));
    return symbol(name);
  }

  std::string quotient(const Expr::Term& term) {
    const auto& [numerator, divisor] = *term.division;
    Expr key = floorDiv(numerator, divisor);
    if (auto known = quotients_.find(key); known != quotients_.end()) return known->second;
    std::string e = text(numerator), q = fmt::format("|{}|", key.str());
    declarations_ += fmt::format("(declare-const {0} Int)\n(assert (<= (* {1} {0}) {2}))\n", q, numeral(divisor), e);
    declarations_ += fmt::format("(assert (< {2} (+ (* {1} {0}) {1})))\n", q, numeral(divisor), e);
    return quotients_.emplace(key, q).first->second;
  }
};

std::string query(const Claim& claim, size_t number, const Scope& outer) {
  Scope scope = outer;
  bool possible = claim.kind == Claim::Kind::kPossible;
  std::string asserts;
  if (claim.kind == Claim::Kind::kFails || claim.kind == Claim::Kind::kOpen) {
    asserts = comment((claim.kind == Claim::Kind::kFails ? "known to fail: " : "not known: ") + claim.reason);
  } else {
    asserts = fmt::format("(assert {})\n", scope.text(claim.given));
    if (!possible) asserts += fmt::format("(assert (not {}))\n", scope.text(claim.goal));
  }
  return fmt::format("\n{}(push 1)\n{}{}(set-info :status {})\n(check-sat)\n(pop 1)\n",
                     comment(fmt::format("{}. {}", number, claim.what)), scope.declarations(), asserts,
                     possible ? "sat" : "unsat");
}

std::string script(const Pattern& pattern, const Rule& rule) {
  std::vector<Claims> parts = claimsOf(pattern, rule);
  std::string out = comment("rule " + rule.name + " of " + pattern.name);
  out += comment("Each answer must be the :status before it: of all integers in the class, none contradicts.");
  out += "(set-logic QF_LIA)\n";
  Scope scope({});
  std::vector<Formula> shapes;
  for (const Constraint& c : rule.shapes.constraints)
    shapes.emplace_back(c);
  std::string asserts;
  for (const Formula& f : shapes)
    asserts += fmt::format("(assert {})\n", scope.text(f));
  out += scope.declarations() + asserts;
  size_t number = 0;
  for (const Claims& part : parts) {
    for (const Claim& claim : part)
      out += query(claim, ++number, scope);
  }
  return out;
}

}  // namespace
}  // namespace check

Expected<std::string> smtScript(const Pattern& pattern, const Rule& rule) {
  try {
    return check::script(pattern, rule);
  } catch (const OverflowError& e) {
    return fail(ErrorKind::kUnsupported, e.what(), rule.name);
  }
}

std::vector<std::string> answersOfZ3(const std::string& script) {
  Z3_config config = Z3_mk_config();
  Z3_context context = Z3_mk_context(config);
  Z3_set_error_handler(context, [](Z3_context, Z3_error_code) {});
  std::istringstream out(Z3_eval_smtlib2_string(context, script.c_str()));
  std::vector<std::string> answers;
  for (std::string line; std::getline(out, line);)
    answers.push_back(line);
  Z3_del_context(context);
  Z3_del_config(config);
  return answers;
}

}  // namespace pet
