#include "rules/text_proof.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/limits.h"

namespace pet {
namespace {

// --- Printing ---

/// A condition; one without constraints is "0 = 0".
std::string printCondition(const std::vector<Constraint>& constraints) {
  std::vector<std::string> parts;
  for (const Constraint& c : constraints)
    parts.push_back(c.str());
  return parts.empty() ? "0 = 0" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string print(const ProofMap& map, std::string_view direction) {
  std::vector<std::string> image;
  for (const Expr& e : map.image)
    image.push_back(e.str());
  std::string text =
      fmt::format("{} {} {} {} [{}]", direction, map.from, map.atMost ? "<=" : "->", map.to, fmt::join(image, ", "));
  return map.when.empty() ? text : text + " when " + printCondition(map.when);
}

std::string printMaps(const std::vector<ProofMap>& forward, const std::vector<ProofMap>& backward, std::string indent) {
  std::string out;
  for (const ProofMap& m : forward)
    out += indent + print(m, "forward") + "\n";
  for (const ProofMap& m : backward)
    out += indent + print(m, "backward") + "\n";
  return out;
}

std::string print(const Lemma& lemma) {
  std::vector<std::string> when;
  for (const auto& condition : lemma.when)
    when.push_back(printCondition(condition));
  return fmt::format("    equal {} {} = {} when {} {{\n{}    }}\n",
                     lemma.kind == Lemma::Kind::kSums ? "sums" : "maxima", lemma.pattern, lemma.replacement,
                     fmt::join(when, "\n      or "), printMaps(lemma.forward, lemma.backward, "      "));
}

std::string printDefined(const std::vector<ProofMap>& maps) {
  std::string out;
  for (const ProofMap& m : maps)
    out += "    " + print(m, "defined") + "\n";
  return out;
}

std::string print(const Vanishing& v) {
  std::string text =
      fmt::format("    vanish {} {}.{}.{}", v.side == Vanishing::Side::kPattern ? "pattern" : "replacement", v.sum,
                  v.piece, v.factor);
  return v.when.empty() ? text + "\n" : text + " when " + printCondition(v.when) + "\n";
}

// --- Reading ---

Expected<int> number(TextReader& in, std::string_view what) {
  Token at = in.peek();
  auto n = in.integer(what);
  if (!n) return tl::unexpected(n.error());
  if (*n > std::numeric_limits<int>::max()) return in.errorAt(at, fmt::format("expected {}", what));
  return static_cast<int>(*n);
}

/// "0 = 0" is no constraint.
Expected<std::vector<Constraint>> condition(TextReader& in) {
  auto read = in.constraints();
  if (read) std::erase(*read, Constraint::eq(0, 0));
  return read;
}

/// After "forward", "backward" or "defined".
Expected<ProofMap> map(TextReader& in, bool mayBeAtMost = false) {
  ProofMap m;
  auto from = number(in, "a piece");
  if (!from) return tl::unexpected(from.error());
  m.atMost = mayBeAtMost && in.accept("<=");
  if (!m.atMost) {
    PET_TRY(in.expect("->"));
  }
  auto to = number(in, "a piece");
  if (!to) return tl::unexpected(to.error());
  m.from = *from;
  m.to = *to;
  PET_TRY(in.expect("["));
  while (!in.at("]")) {
    auto e = in.expression();
    if (!e) return tl::unexpected(e.error());
    m.image.push_back(std::move(*e));
    if (m.image.size() > kMostEntries) return in.error("a map of very many indices");
    if (!in.accept(",")) break;
  }
  PET_TRY(in.expect("]"));
  if (in.accept("when")) {
    auto when = condition(in);
    if (!when) return tl::unexpected(when.error());
    m.when = std::move(*when);
  }
  return m;
}

/// Takes a map if there is one; false if something else follows.
Expected<bool> acceptMap(TextReader& in,
                         std::vector<ProofMap>& forward,
                         std::vector<ProofMap>& backward,
                         bool mayBeAtMost = false) {
  bool isForward = in.accept("forward");
  if (!isForward && !in.accept("backward")) return false;
  auto m = map(in, mayBeAtMost);
  if (!m) return tl::unexpected(m.error());
  if (forward.size() + backward.size() >= kMostMaps) return in.error("a proof of very many maps");
  (isForward ? forward : backward).push_back(std::move(*m));
  return true;
}

/// After "equal".
Expected<Lemma> lemma(TextReader& in) {
  Lemma l;
  bool maxima = in.accept("maxima");
  if (!maxima && !in.accept("sums")) return in.error("expected 'sums' or 'maxima'");
  l.kind = maxima ? Lemma::Kind::kMaxima : Lemma::Kind::kSums;
  auto a = number(in, "a number");
  if (!a) return tl::unexpected(a.error());
  PET_TRY(in.expect("="));
  auto b = number(in, "a number");
  if (!b) return tl::unexpected(b.error());
  l.pattern = *a;
  l.replacement = *b;
  PET_TRY(in.expect("when"));
  do {
    auto when = condition(in);
    if (!when) return tl::unexpected(when.error());
    l.when.push_back(std::move(*when));
    if (l.when.size() > kMostEntries) return in.error("a lemma of very many conditions");
  } while (in.accept("or"));
  PET_TRY(in.expect("{"));
  while (!in.at("}")) {
    auto took = acceptMap(in, l.forward, l.backward, maxima);
    if (!took) return tl::unexpected(took.error());
    if (!*took) return in.error("expected 'forward' or 'backward'");
  }
  PET_TRY(in.expect("}"));
  return l;
}

/// "sum.piece.factor", three integers.
bool parsePlace(const std::string& word, Vanishing& into) {
  const char *at = word.data(), *end = at + word.size();
  for (int* part : {&into.sum, &into.piece, &into.factor}) {
    if (part != &into.sum && (at == end || *at++ != '.')) return false;
    auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc() || *part < 0) return false;
    at = next;
  }
  return at == end;
}

/// After "vanish".
Expected<Vanishing> vanishing(TextReader& in) {
  Vanishing v;
  bool replacement = in.accept("replacement");
  if (!replacement && !in.accept("pattern")) return in.error("expected 'pattern' or 'replacement'");
  v.side = replacement ? Vanishing::Side::kReplacement : Vanishing::Side::kPattern;
  Token at = in.peek();
  if (!parsePlace(in.word(), v)) return in.errorAt(at, "expected a factor, as in 1.0.2");
  if (in.accept("when")) {
    auto when = condition(in);
    if (!when) return tl::unexpected(when.error());
    v.when = std::move(*when);
  }
  return v;
}

/// "unfold LeakyRelu, Square", if it is there.
Expected<std::vector<std::string>> unfolded(TextReader& in) {
  std::vector<std::string> names;
  if (!in.accept("unfold")) return names;
  do {
    Token at = in.peek();
    auto name = in.name("an operator");
    if (!name) return tl::unexpected(name.error());
    if (!names.empty() && *name <= names.back()) return in.errorAt(at, "expected operators in order, each once");
    names.push_back(std::move(*name));
  } while (in.accept(","));
  return names;
}

/// "{ … }".
Expected<Proof> block(TextReader& in) {
  Proof proof;
  PET_TRY(in.expect("{"));
  auto unfold = unfolded(in);
  if (!unfold) return tl::unexpected(unfold.error());
  proof.unfold = std::move(*unfold);
  while (!in.at("}")) {
    auto took = acceptMap(in, proof.forward, proof.backward);
    if (!took) return tl::unexpected(took.error());
    if (*took) continue;
    if (proof.lemmas.size() + proof.vanishing.size() >= kMostEntries) return in.error("a proof of very many lemmas");
    if (in.accept("equal")) {
      auto l = lemma(in);
      if (!l) return tl::unexpected(l.error());
      proof.lemmas.push_back(std::move(*l));
    } else if (in.accept("vanish")) {
      auto v = vanishing(in);
      if (!v) return tl::unexpected(v.error());
      proof.vanishing.push_back(std::move(*v));
    } else if (in.accept("defined")) {
      if (proof.defined.size() >= kMostMaps) return in.error("a proof of very many maps");
      auto m = map(in);
      if (!m) return tl::unexpected(m.error());
      proof.defined.push_back(std::move(*m));
    } else {
      return in.error("expected 'forward', 'backward', 'equal', 'vanish' or 'defined'");
    }
  }
  PET_TRY(in.expect("}"));
  return proof;
}

const Proof* find(const std::vector<Proof>& proofs, const std::string& output) {
  auto it = std::find_if(proofs.begin(), proofs.end(), [&](const Proof& p) { return p.output == output; });
  return it == proofs.end() ? nullptr : &*it;
}

}  // namespace

Expected<void> readProof(TextReader& in,
                         const Token& clause,
                         const std::vector<std::string>& outputs,
                         std::vector<Proof>& proofs) {
  std::string output;
  if (outputs.size() > 1) {
    Token at = in.peek();
    auto name = in.name("an output of the pattern");
    if (!name) return tl::unexpected(name.error());
    output = std::move(*name);
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end())
      return in.errorAt(at, fmt::format("'{}' is no output of the pattern", output));
  }
  if (find(proofs, output))
    return in.errorAt(clause, fmt::format("'proof{}{}' is given twice", output.empty() ? "" : " ", output));
  auto proof = block(in);
  if (!proof) return tl::unexpected(proof.error());
  proof->output = std::move(output);
  proofs.push_back(std::move(*proof));
  return {};
}

std::vector<Proof> oneForEach(const std::vector<std::string>& outputs, const std::vector<Proof>& proofs) {
  std::vector<Proof> result;
  for (const std::string& name : outputs) {
    std::string output = outputs.size() > 1 ? name : "";
    const Proof* given = find(proofs, output);
    result.push_back(given ? *given : Proof());
    result.back().output = std::move(output);
  }
  return result;
}

std::string print(const Proof& proof) {
  std::string out = proof.output.empty() ? "  proof {\n" : fmt::format("  proof {} {{\n", proof.output);
  if (!proof.unfold.empty()) out += fmt::format("    unfold {}\n", fmt::join(proof.unfold, ", "));
  for (const Vanishing& v : proof.vanishing)
    out += print(v);
  for (const Lemma& l : proof.lemmas)
    out += print(l);
  return out + printMaps(proof.forward, proof.backward, "    ") + printDefined(proof.defined) + "  }\n";
}

}  // namespace pet
