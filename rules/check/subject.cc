#include "rules/check/subject.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/evaluate.h"

namespace pet::check {

Expected<Sum> sumOf(const Program& program, NameSource& names) {
  if (program.outputs().size() != 1) return fail(ErrorKind::kUnsupported, "more than one output");
  auto denotation = denote(program, program.outputs()[0], names);
  if (!denotation) return tl::unexpected(denotation.error());
  auto inputs = program.inputs();
  Sum sum{denotation->index, {}};
  for (const Piece& piece : denotation->pieces) {
    Monomials m{piece.coefficient, piece.reduction, Formula::all(piece.domain), {}};
    for (const Factor& f : piece.factors) {
      if (f.kind != Factor::Kind::kInput) return fail(ErrorKind::kUnsupported, "a function: " + f.key);
      m.reads.push_back({program.name(inputs[static_cast<size_t>(f.number)]), f.at});
    }
    std::stable_sort(m.reads.begin(), m.reads.end(), [](const Read& a, const Read& b) { return a.input < b.input; });
    sum.pieces.push_back(std::move(m));
  }
  return sum;
}

Monomials Monomials::withReduction(const std::vector<Expr>& values) const {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < reduction.size(); ++i)
    by.emplace(reduction[i], values[i]);
  Monomials result{coefficient, {}, domain.substitute(by), reads};
  for (Read& r : result.reads) {
    for (Expr& e : r.at)
      e = e.substitute(by);
  }
  return result;
}

Formula sameReads(const Monomials& a, const Monomials& b, const std::vector<size_t>& pairing) {
  std::vector<Constraint> equal;
  for (size_t i = 0; i < a.reads.size(); ++i) {
    const Read& other = b.reads[pairing[i]];
    for (size_t d = 0; d < a.reads[i].at.size(); ++d)
      equal.push_back(Constraint::eq(a.reads[i].at[d], other.at[d]));
  }
  return Formula::all(equal);
}

std::vector<std::vector<size_t>> pairings(const Monomials& a, const Monomials& b) {
  bool alike =
      std::equal(a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(),
                 [](const Read& x, const Read& y) { return x.input == y.input && x.at.size() == y.at.size(); });
  if (!alike) return {};
  std::vector<size_t> pairing(a.reads.size());
  std::iota(pairing.begin(), pairing.end(), 0);
  std::vector<std::vector<size_t>> result;
  constexpr size_t kMost = 24;  // X[..]^4: longer products are compared in 24 of their orders only
  do {
    bool keeps = true;
    for (size_t i = 0; keeps && i < pairing.size(); ++i)
      keeps = a.reads[i].input == b.reads[pairing[i]].input;
    if (keeps) result.push_back(pairing);
  } while (result.size() < kMost && std::next_permutation(pairing.begin(), pairing.end()));
  return result;
}

Answer Subject::require(const std::string& what, const Formula& given, const Formula& goal) {
  Answer answer = solver_.implies(given, goal);
  bool refuted = answer.verdict == Verdict::kRefuted;
  if (refuted) noteWitness(answer.witness);
  record(what, answer.verdict, refuted ? describe(answer.witness) : answer.reason);
  return answer;
}

void Subject::noteWitness(const Bindings& witness) {
  if (!witness_) witness_ = witness;
}

void Subject::tellWhoIsWrong(const Program& source) {
  auto agree = witness_ ? agreeAt(source, rule_.replacement, *witness_, {}) : std::nullopt;
  if (!agree) return;
  auto failed = std::find_if(report_.steps.begin(), report_.steps.end(),
                             [](const CheckStep& s) { return s.verdict == Verdict::kRefuted; });
  failed->reason += *agree ? " (the programs agree at this shape: it is the record that is wrong)"
                           : " (the programs differ at this shape)";
}

void Subject::record(const std::string& what, Verdict verdict, const std::string& reason) {
  report_.steps.push_back({what, verdict, reason});
}

std::string Subject::describe(const Bindings& witness) const {
  Bindings rest = witness;
  std::vector<std::string> symbols, position, others;
  for (const std::string& s : rule_.shapes.symbols) {
    auto it = rest.find(s);
    if (it == rest.end()) continue;
    symbols.push_back(fmt::format("{} = {}", s, it->second));
    rest.erase(it);
  }
  for (auto it = rest.find("v0"); it != rest.end(); it = rest.find(fmt::format("v{}", position.size()))) {
    position.push_back(std::to_string(it->second));
    rest.erase(it);
  }
  for (const auto& [name, value] : rest)
    others.push_back(fmt::format("{} = {}", name, value));
  std::string text = fmt::format("{}", fmt::join(symbols, ", "));
  if (!position.empty()) text += fmt::format("; v = [{}]", fmt::join(position, ", "));
  if (!others.empty()) text += fmt::format("; {}", fmt::join(others, ", "));
  return text;
}

namespace {

constexpr int64_t kMostElements = 1 << 16;

bool isSmall(const Program& program, const Bindings& symbols) {
  for (const Node& node : program.nodes()) {
    for (const Shape& shape : node.shapes) {
      auto extents = evaluate(shape, symbols);
      if (!extents ||
          std::any_of(extents->begin(), extents->end(), [](int64_t e) { return e < 0 || e > kMostElements; }) ||
          elementCount(*extents) > kMostElements) {
        return false;
      }
    }
  }
  return true;
}

/// The digits of every position of a shape, outermost first, as bindings of v0, v1, ….
std::vector<Bindings> positions(const Shape& shape, const Bindings& symbols) {
  std::vector<Bindings> result{symbols};
  size_t digit = 0;
  for (const Dim& d : shape) {
    for (const Expr& atom : d.atoms()) {
      std::string name = fmt::format("v{}", digit++);
      int64_t extent = *atom.evaluate(symbols);
      std::vector<Bindings> next;
      for (const Bindings& b : result) {
        for (int64_t i = 0; i < extent; ++i) {
          next.push_back(b);
          next.back()[name] = i;
        }
      }
      result = std::move(next);
    }
  }
  return result;
}

}  // namespace

std::optional<bool> agreeAt(const Program& a, const Program& b, const Bindings& symbols, const Formula& where) {
  try {
    if (!isSmall(a, symbols) || !isSmall(b, symbols)) return std::nullopt;
    std::mt19937_64 random(1);
    std::map<std::string, Tensor<Fp>> inputs;
    for (Value v : a.inputs()) {
      Tensor<Fp> t(*evaluate(a.shape(v), symbols));
      for (Fp& e : t.data)
        e = Fp(static_cast<int64_t>(random() % Fp::kPrime));
      inputs.emplace(a.name(v), std::move(t));
    }
    auto x = evaluate<Fp>(a, symbols, inputs), y = evaluate<Fp>(b, symbols, inputs);
    if (!x || !y || x->at(0).extents != y->at(0).extents) return std::nullopt;
    auto at = positions(a.shape(a.outputs()[0]), symbols);
    for (size_t i = 0; i < at.size(); ++i) {
      if (where.evaluate(at[i]) == true && x->at(0).data[i] != y->at(0).data[i]) return false;
    }
    return true;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace pet::check
