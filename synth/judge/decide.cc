#include "synth/judge/decide.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/denote.h"
#include "rules/text.h"
#include "synth/prove/boxes.h"

namespace pet {
namespace {

void collect(const Program& program, std::set<std::string>& into) {
  for (const Node& n : program.nodes()) {
    for (const Shape& s : n.shapes) {
      for (const Dim& d : s) {
        for (const Expr& atom : d.atoms())
          atom.collectVariables(into);
      }
    }
  }
  for (const Constraint& c : obligations(program))
    c.expr.collectVariables(into);
}

/// Why the symbols do not say what the class is; empty if they do.
std::string unsoundSymbols(const Pattern& pattern, const Rule& rule, const Program& source) {
  std::set<std::string> declared, used, replaced;
  for (const std::string& s : rule.shapes.symbols) {
    if (!declared.insert(s).second) return fmt::format("the symbol {} is declared twice", s);
  }
  for (const auto& [symbol, value] : rule.where) {
    const auto& known = pattern.shapes.symbols;
    if (std::find(known.begin(), known.end(), symbol) == known.end())
      return fmt::format("{} in 'where' is no symbol of the pattern", symbol);
    if (!replaced.insert(symbol).second) return fmt::format("{} is given twice in 'where'", symbol);
    value.collectVariables(used);
  }
  for (const std::string& s : pattern.shapes.symbols) {
    if (!replaced.contains(s)) used.insert(s);
  }
  for (const Constraint& c : rule.shapes.constraints)
    c.expr.collectVariables(used);
  collect(source, used);
  collect(rule.replacement, used);
  for (const std::string& s : used) {
    if (!declared.contains(s)) return fmt::format("the symbol {} is not declared in 'class'", s);
  }
  return "";
}

/// The first constraint that the class does not imply.
std::optional<Violated> violated(const poly::Context& context,
                                 const std::vector<Constraint>& constraints,
                                 const std::string& whose) {
  for (const Constraint& c : constraints) {
    if (context.implies(c)) continue;
    poly::Conjunction below{{-c.expr - 1, Constraint::Kind::kNonNegative}};
    poly::Conjunction above{{c.expr - 1, Constraint::Kind::kNonNegative}};
    auto point = context.set({}, below).sample();
    if (!point && c.kind == Constraint::Kind::kZero) point = context.set({}, above).sample();
    return Violated{c, whose, point ? std::optional(point->first) : std::nullopt};
  }
  return std::nullopt;
}

/// Decides one output; both programs have no other.
class OutputDecider {
 public:
  OutputDecider(const Rule& rule, const Program& source, const Program& candidate, const DecideOptions& options)
      : rule_(rule), source_(source), candidate_(candidate), options_(options), context_(rule.shapes, options.budget) {}

  Decision run() {
    if (auto w = differentExtents()) {
      return Refuted{fmt::format("the pattern's output is {}, the candidate's {}", str(outputShape(source_)),
                                 str(outputShape(candidate_))),
                     *w};
    }
    if (auto w = quickWitness()) return Refuted{"evaluation before any proof", std::move(*w)};
    Equality equality = proveEqual(context_, source_, candidate_);
    if (auto* proved = std::get_if<Proved>(&equality)) return std::move(*proved);
    if (auto* outside = std::get_if<ProvedOutside>(&equality)) return decideOutside(outside->bad);
    return refutedOr(std::get<Unknown>(equality).reason);
  }

 private:
  static const Shape& outputShape(const Program& p) { return p.shape(p.outputs()[0]); }

  /// Equal shapes have equal extents: then no member of the class is looked for before the proof.
  std::optional<Witness> differentExtents() const {
    if (outputShape(source_) == outputShape(candidate_)) return std::nullopt;
    return findExtents(members(), source_, candidate_);
  }

  std::vector<Bindings> members() const { return witnessShapes(rule_.shapes, source_, candidate_, options_.witness); }

  std::optional<Witness> quickWitness() const {
    if (options_.shapesBeforeProof == 0) return std::nullopt;
    WitnessOptions few = options_.witness;
    few.shapes = std::min(few.shapes, options_.shapesBeforeProof);
    few.draws = 0;
    return findWitness(witnessShapes(rule_.shapes, source_, candidate_, few), source_, candidate_, few).witness;
  }

  Decision decideOutside(const poly::Set& bad) const {
    std::vector<Box> boxes = boxesOf(context_, bad, outputShape(source_));
    if (coverEverything(boxes)) return refutedOr("no position is left outside the boxes");
    WitnessSearch found = search();
    return ProvedOutsideBoxes{"", std::move(boxes), found.witness, found.shapes};
  }

  /// No position of the output is outside the boxes, at any shape.
  bool coverEverything(const std::vector<Box>& boxes) const {
    const std::vector<Box> whole{wholeOf(outputShape(source_))};
    return positionsOf(context_, whole, outputShape(source_))
        .isSubset(positionsOf(context_, boxes, outputShape(source_)));
  }

  Decision refutedOr(const std::string& reason) const {
    WitnessSearch found = search();
    if (found.witness) return Refuted{"the prover: " + reason, *found.witness};
    return Unknown{found.shapes > 0
                       ? fmt::format("{}; evaluation finds no difference at {} shapes", reason, found.shapes)
                       : reason};
  }

  WitnessSearch search() const { return findWitness(members(), source_, candidate_, options_.witness); }

  const Rule& rule_;
  const Program &source_, &candidate_;
  const DecideOptions& options_;
  poly::Context context_;
};

/// Why the class does not allow to ask; nullopt where it does.
std::optional<Decision> objection(const Pattern& pattern,
                                  const Rule& rule,
                                  const Program& source,
                                  const DecideOptions& options) {
  poly::Context context(rule.shapes, options.budget);
  if (context.set({}, {}).isEmpty()) return Unknown{"the class is empty: its constraints contradict each other"};
  std::map<std::string, Expr> where(rule.where.begin(), rule.where.end());
  std::vector<Constraint> patternClass;
  for (const Constraint& c : pattern.shapes.constraints)
    patternClass.push_back(c.substitute(where));
  if (auto v = violated(context, obligations(rule.replacement), "the candidate")) return *v;
  if (auto v = violated(context, obligations(source), "the pattern")) return *v;
  if (auto v = violated(context, patternClass, "the pattern's class")) return *v;
  size_t count = source.outputs().size(), given = rule.replacement.outputs().size();
  if (count != given) return Unknown{fmt::format("the pattern has {} outputs, the candidate {}", count, given)};
  return std::nullopt;
}

/// The part of a program that computes one output.
Program outputOf(const Program& program, size_t output) {
  return ProgramBuilder(program).finish({program.outputs()[output]}).withoutDeadNodes();
}

Decision named(Decision d, const std::string& output) {
  if (auto* proved = std::get_if<Proved>(&d)) proved->proofs[0].output = output;
  if (auto* outside = std::get_if<ProvedOutsideBoxes>(&d)) outside->output = output;
  if (auto* unknown = std::get_if<Unknown>(&d)) unknown->reason = output + ": " + unknown->reason;
  return d;
}

/// Of two outputs, the one with the lower rank speaks for both.
int rank(const Decision& d) {
  if (std::holds_alternative<Proved>(d)) return 3;
  if (std::holds_alternative<ProvedOutsideBoxes>(d)) return 2;
  return std::holds_alternative<Refuted>(d) ? 0 : 1;
}

Decision decideOutputs(const Rule& rule, const Program& source, const DecideOptions& options) {
  size_t count = source.outputs().size();
  if (count == 1) return OutputDecider(rule, source, rule.replacement, options).run();
  std::vector<Proof> proofs;
  std::optional<Decision> worst;
  std::optional<Witness> witness;  // of an output that is right outside boxes
  for (size_t o = 0; o < count && !(worst && rank(*worst) == 0); ++o) {
    const Program ours = outputOf(source, o), candidate = outputOf(rule.replacement, o);
    Decision d = named(OutputDecider(rule, ours, candidate, options).run(), source.name(source.outputs()[o]));
    if (auto* proved = std::get_if<Proved>(&d)) proofs.push_back(proved->proofs[0]);
    if (auto* outside = std::get_if<ProvedOutsideBoxes>(&d); outside && !witness) witness = outside->witness;
    if (!worst || rank(d) < rank(*worst)) worst = std::move(d);
  }
  if (proofs.size() == count) return Proved{std::move(proofs)};
  auto* unknown = std::get_if<Unknown>(&*worst);
  if (unknown && witness) return Refuted{"the prover: " + unknown->reason, std::move(*witness)};
  return std::move(*worst);
}

}  // namespace

Decision decide(const Pattern& pattern, const Rule& rule, const DecideOptions& options) {
  auto decision = orDrop([&]() -> tl::expected<Decision, Drop> {
    auto source = instantiate(pattern, rule);
    if (!source) return Unknown{source.error().message()};
    if (auto reason = unsoundSymbols(pattern, rule, *source); !reason.empty()) return Unknown{reason};
    if (auto why = objection(pattern, rule, *source, options)) return std::move(*why);
    return decideOutputs(rule, *source, options);
  });
  if (!decision) return Unknown{std::move(decision.error().detail)};
  return std::move(*decision);
}

// --- As text ---

namespace {

constexpr int64_t kWholeInput = 16;
constexpr size_t kNonZero = 8;

/// "[[1, 0], [0, 2]]".
std::string nested(const Tensor<int64_t>& x, size_t dim, size_t& next) {
  if (dim == x.extents.size()) return std::to_string(x.data[next++]);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < x.extents[dim]; ++i)
    parts.push_back(nested(x, dim + 1, next));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// "x = [[1, 0]]"; of a large one what is not zero, if that is little.
std::string inputText(const std::string& name, const Tensor<int64_t>& x) {
  size_t next = 0;
  if (x.size() <= kWholeInput) return fmt::format("{} = {}", name, nested(x, 0, next));
  std::vector<std::string> nonZero;
  std::vector<int64_t> strides = rowMajorStrides(x.extents);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.data[static_cast<size_t>(i)] == 0) continue;
    std::vector<int64_t> at;
    for (size_t d = 0; d < x.extents.size(); ++d)
      at.push_back(i / strides[d] % x.extents[d]);
    nonZero.push_back(fmt::format("{}[{}] = {}", name, fmt::join(at, ", "), x.data[static_cast<size_t>(i)]));
  }
  std::string all = fmt::format("{} = zeros {}", name, str(x.extents));
  if (nonZero.empty()) return all;
  if (nonZero.size() <= kNonZero) return fmt::format("{} but {}", all, fmt::join(nonZero, ", "));
  return fmt::format("{} of {} with {} elements that are not 0", name, str(x.extents), nonZero.size());
}

std::string witnessText(const Witness& w) {
  if (w.position.empty() && w.patternValue.empty()) {
    return fmt::format("at {}: {} is {} in the pattern, {} in the candidate\n", shapeText(w.symbols), w.output,
                       str(w.patternExtents), str(w.candidateExtents));
  }
  std::string text = fmt::format("at {}: {}[{}] = {} in the pattern, {} in the candidate\n", shapeText(w.symbols),
                                 w.output, fmt::join(w.position, ", "), w.patternValue, w.candidateValue);
  for (const auto& [name, x] : w.inputs)
    text += inputText(name, x) + "\n";
  return text;
}

}  // namespace

std::string Violated::reason() const {
  return fmt::format("the class does not imply {}, which {} needs", obligation.str(), whose);
}

std::string verdictOf(const Decision& decision) {
  if (std::holds_alternative<Proved>(decision)) return "proved";
  if (std::holds_alternative<ProvedOutsideBoxes>(decision)) return "proved outside boxes";
  return std::holds_alternative<Refuted>(decision) ? "refuted" : "unknown";
}

std::string explain(const Decision& decision) {
  if (const auto* outside = std::get_if<ProvedOutsideBoxes>(&decision)) {
    std::string text;
    for (const Box& b : outside->boxes)
      text += fmt::format("{}box {}\n", outside->output.empty() ? "" : outside->output + ": ", print(b));
    if (!outside->witness) return text + fmt::format("evaluation finds no difference at {} shapes\n", outside->shapes);
    return text + witnessText(*outside->witness);
  }
  if (const auto* refuted = std::get_if<Refuted>(&decision))
    return witnessText(refuted->witness) + refuted->reason + "\n";
  if (const auto* v = std::get_if<Violated>(&decision)) {
    return v->reason() + "\n" + (v->member ? fmt::format("it does not hold at {}\n", shapeText(*v->member)) : "");
  }
  if (const auto* unknown = std::get_if<Unknown>(&decision)) return unknown->reason + "\n";
  return "";
}

}  // namespace pet
