#include <algorithm>

#include <fmt/format.h>

#include "rules/check/claim.h"

// The rule's class, the shapes of inputs and outputs, and what there is to show of each output.
namespace pet::check {
namespace {

/// Names that are used twice, or that an index of a denotation could have ("v0", "c_1"): they would be mixed up.
std::optional<std::string> badSymbol(const std::vector<std::string>& symbols) {
  std::set<std::string> seen;
  for (const std::string& s : symbols) {
    bool digits = s.size() > 1 && s.find_first_not_of("0123456789", 1) == std::string::npos;
    size_t bar = s.rfind('_');
    bool fresh = bar != std::string::npos && bar + 1 < s.size() &&
                 s.find_first_not_of("0123456789", bar + 1) == std::string::npos;
    if (!seen.insert(s).second) return s + " is declared twice";
    if ((digits && s[0] == 'v') || fresh) return s + " is a name that indices have";
  }
  return std::nullopt;
}

void collect(const Program& program, std::set<std::string>& into) {
  for (const Node& node : program.nodes()) {
    for (const Shape& shape : node.shapes) {
      for (const Dim& d : shape) {
        for (const Expr& atom : d.atoms())
          atom.collectVariables(into);
      }
    }
  }
}

/// Every symbol in use is declared, under a name of its own.
std::string symbolsAreSound(const Pattern& pattern, const Rule& rule, const Program& source) {
  if (auto bad = badSymbol(rule.shapes.symbols)) return *bad;
  std::set<std::string> used;
  for (const Constraint& c : rule.shapes.constraints)
    c.expr.collectVariables(used);
  collect(source, used);
  collect(rule.replacement, used);
  collect(rule.mutant, used);
  std::set<std::string> replaced;
  for (const auto& [symbol, value] : rule.where) {
    bool known =
        std::find(pattern.shapes.symbols.begin(), pattern.shapes.symbols.end(), symbol) != pattern.shapes.symbols.end();
    if (!known) return symbol + " is no symbol of the pattern";
    if (!replaced.insert(symbol).second) return symbol + " is given twice";
    value.collectVariables(used);
  }
  for (const std::string& s : pattern.shapes.symbols) {
    if (!replaced.contains(s)) used.insert(s);
  }
  std::set<std::string> declared(rule.shapes.symbols.begin(), rule.shapes.symbols.end());
  for (const std::string& s : used) {
    if (!declared.contains(s)) return s + " is not declared";
  }
  return "";
}

void requireEach(Claims& claims, const std::string& what, const std::vector<Constraint>& constraints) {
  for (const Constraint& c : constraints)
    claims.push_back({.what = fmt::format("{} {}", what, c.str()), .goal = c});
}

/// The same extents, atom by atom: positions are compared digit by digit.
Claim sameShape(const std::string& what, const Shape& a, const Shape& b) {
  std::vector<Constraint> equal;
  bool alike = a.size() == b.size();
  for (size_t d = 0; alike && d < a.size(); ++d) {
    alike = a[d].atoms().size() == b[d].atoms().size();
    for (size_t i = 0; alike && i < a[d].atoms().size(); ++i)
      equal.push_back(Constraint::eq(a[d].atoms()[i], b[d].atoms()[i]));
  }
  if (!alike) return fails(what, fmt::format("{} against {}", str(a), str(b)));
  return {.what = fmt::format("{}: {} against {}", what, str(a), str(b)), .goal = Formula::all(equal)};
}

void requireSameInterface(Claims& claims, const std::string& noun, const Program& source, const Program& program) {
  for (Value v : program.inputs()) {
    std::string what = fmt::format("input {} of the {}", program.name(v), noun);
    auto given = source.find(program.name(v));
    bool isInput = given && opOf(source.node(*given)) == opOf(program.node(v));
    if (!isInput) {
      claims.push_back(fails(what, "the pattern has no such input"));
    } else if (source.node(*given).scalar("constant") != program.node(v).scalar("constant")) {
      claims.push_back(fails(what, "constant in one program only"));
    } else {
      claims.push_back(sameShape(what, source.shape(*given), program.shape(v)));
    }
  }
  size_t count = source.outputs().size(), given = program.outputs().size();
  if (count != given) {
    claims.push_back(fails(fmt::format("outputs of the {}", noun), fmt::format("{} against {}", count, given)));
    return;
  }
  for (size_t o = 0; o < count; ++o) {
    Value ours = source.outputs()[o];
    std::string name = count > 1 ? " " + source.name(ours) : "";
    claims.push_back(sameShape(fmt::format("output{} of the {}", name, noun), source.shape(ours),
                               program.shape(program.outputs()[o])));
  }
}

/// Why the proofs are not one for each output, under its name where there are several; empty if they are.
std::string misplacedProof(const Rule& rule, const Program& source) {
  size_t count = source.outputs().size();
  if (rule.proofs.size() != count) return fmt::format("{} of {} outputs", rule.proofs.size(), count);
  for (size_t o = 0; o < count; ++o) {
    std::string name = count > 1 ? source.name(source.outputs()[o]) : "";
    if (rule.proofs[o].output != name) return fmt::format("one of '{}', not '{}'", rule.proofs[o].output, name);
  }
  return "";
}

}  // namespace

Claims classClaims(const Pattern& pattern, const Rule& rule, const Program& source) {
  std::string unsound = symbolsAreSound(pattern, rule, source);
  if (!unsound.empty()) return {fails("the symbols", unsound)};
  Claims claims{{.what = "the symbols"},
                {.kind = Claim::Kind::kPossible,
                 .what = "the class has a member",
                 .reason = "its constraints contradict each other"}};
  std::map<std::string, Expr> where(rule.where.begin(), rule.where.end());
  std::vector<Constraint> required;
  for (const Constraint& c : pattern.shapes.constraints)
    required.push_back(c.substitute(where));
  requireEach(claims, "the pattern's class:", required);
  requireEach(claims, "an obligation of the pattern:", demandsOf(source));
  requireEach(claims, "an obligation of the replacement:", demandsOf(rule.replacement));
  return claims;
}

Claims shapeClaims(const Rule& rule, const Program& source) {
  Claims claims;
  requireSameInterface(claims, "replacement", source, rule.replacement);
  if (!rule.boxes.empty()) requireSameInterface(claims, "mutant", source, rule.mutant);
  if (auto why = misplacedProof(rule, source); !why.empty()) claims.push_back(fails("the proofs", why));
  if (!rule.boxes.empty() && source.outputs().size() != 1)
    claims.push_back(fails("the boxes", "the pattern has several outputs"));
  return claims;
}

}  // namespace pet::check
