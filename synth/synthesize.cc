#include "synth/synthesize.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "ir/denote.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "synth/correct.h"
#include "synth/cost.h"
#include "synth/prove/prove.h"
#include "synth/shapes.h"

namespace pet {
namespace {

/// A mutant is dropped when it computes more than this many times the pattern's arithmetic at every shape tried.
constexpr double kCostFactor = 8;
constexpr int64_t kCostExtents[] = {4, 48};
/// Extent of the concrete shape for the filter: a few windows per tile.
constexpr int64_t kFilterExtent = 9;

struct Candidate {
  Fate fate = Fate::kKept;
  std::string detail;
  Rule rule;
  StageTimes seconds;
};

class Stopwatch {
 public:
  explicit Stopwatch(double& into) : into_(into) {}
  ~Stopwatch() { into_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& into_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Fate fateOf(PlanFailure::Why why) {
  switch (why) {
    case PlanFailure::Why::kNotApplicable:
      return Fate::kNotApplicable;
    case PlanFailure::Why::kNoVote:
      return Fate::kNoVote;
    case PlanFailure::Why::kShape:
      return Fate::kShape;
    case PlanFailure::Why::kEmptyClass:
      return Fate::kEmptyClass;
  }
  return Fate::kNotApplicable;
}

/// The statements with values renamed in order: equal for programs that are the same but for names.
std::string canonicalText(const Program& program) {
  ProgramBuilder b;
  std::vector<Value> moved;
  for (const Node& n : program.nodes()) {
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved[static_cast<size_t>(v.node)]);
    std::string name = fmt::format("v{}", moved.size());
    moved.push_back(n.op->name == "Input" ? b.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1))
                                          : *b.add(*n.op, operands, n.attributes, {name}));
  }
  Value out = moved[static_cast<size_t>(program.outputs()[0].node)];
  return printStatements(std::move(b).finish({out}));
}

/// splitmix64, for operands that depend on nothing but their place.
uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Share of output positions at which two programs agree over F_p for random operands (PET, section 5.1, Theorem 2).
std::optional<double> agreement(const Program& a, const Program& b, const Bindings& symbols) {
  std::map<std::string, Tensor<Fp>> inputs;
  for (Value v : a.inputs()) {
    auto extents = evaluate(a.shape(v), symbols);
    if (!extents) return std::nullopt;
    Tensor<Fp> t(*extents);
    for (size_t i = 0; i < t.data.size(); ++i) {
      t.data[i] = Fp(static_cast<int64_t>(mix(mix(static_cast<uint64_t>(v.node)) + i) % Fp::kPrime));
    }
    inputs.emplace(a.name(v), std::move(t));
  }
  auto ya = evaluate<Fp>(a, symbols, inputs), yb = evaluate<Fp>(b, symbols, inputs);
  if (!ya || !yb || (*ya)[0].extents != (*yb)[0].extents || (*ya)[0].data.empty()) return std::nullopt;
  size_t equal = 0;
  for (size_t i = 0; i < (*ya)[0].data.size(); ++i)
    equal += (*ya)[0].data[i] == (*yb)[0].data[i];
  return static_cast<double>(equal) / static_cast<double>((*ya)[0].data.size());
}

/// Constraints that do not follow from the others, sorted.
ShapeClass minimal(const ShapeClass& shapes) {
  ShapeClass result{shapes.symbols, shapes.constraints};
  std::sort(result.constraints.begin(), result.constraints.end(), [](const Constraint& a, const Constraint& b) {
    return std::pair(a.str().size(), a) > std::pair(b.str().size(), b);  // long ones go first
  });
  for (size_t i = 0; i < result.constraints.size();) {
    ShapeClass without = result;
    without.constraints.erase(without.constraints.begin() + static_cast<std::ptrdiff_t>(i));
    if (poly::Context(without).implies(result.constraints[i])) {
      result = std::move(without);
    } else {
      ++i;
    }
  }
  std::sort(result.constraints.begin(), result.constraints.end());
  return result;
}

/// True if some weight slot is always zero: then 0 · NaN reaches outputs that the pattern keeps clean.
bool hasZeroSlots(const poly::Context& context, const Program& program) {
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.op->name != "IndexMap") continue;
    ProgramBuilder b;
    Value w = b.input("w", program.shape(n.operands[0]));
    auto u = b.add(*n.op, {w}, n.attributes);
    Program map = std::move(b).finish({*u});
    NameSource names;
    auto d = denote(map, *u, names);
    if (!d) return true;
    poly::Conjunction all;
    Index at;
    size_t digit = 0;
    for (const Dim& dim : map.shape(*u)) {
      at.emplace_back();
      for (size_t a = 0; a < dim.atoms().size(); ++a)
        at.back().push_back(Expr::variable(d->index[digit++]));
    }
    requireInRange(at, map.shape(*u), all);
    poly::Set empty = context.set(d->index, all);
    for (const Piece& p : d->pieces)
      empty = empty.subtract(context.set(d->index, p.domain));
    if (!empty.isEmpty()) return true;
  }
  return false;
}

// --- One plan, step by step. A step returns the reason why the candidate ends there, or nothing. ---

class Pipeline {
 public:
  Pipeline(const Pattern& pattern, const MainOperator& op, const SynthesisOptions& options)
      : pattern_(pattern), op_(op), options_(options), patternText_(canonicalText(pattern.program)) {}

  Candidate run(const Plan& plan) const {
    Candidate c;
    try {
      stages(plan, c);
    } catch (const poly::BudgetExceeded& e) {
      end(c, Fate::kUnknown, e.what());
    } catch (const OverflowError& e) {
      end(c, Fate::kShape, e.what());
    }
    return c;
  }

 private:
  static void end(Candidate& c, Fate fate, std::string detail = "") {
    c.fate = fate;
    c.detail = std::move(detail);
  }

  void stages(const Plan& plan, Candidate& c) const {
    std::optional<Mutant> mutant;
    {
      Stopwatch watch(c.seconds.build);
      auto built = buildMutant(pattern_, op_, plan);
      if (!built) return end(c, fateOf(built.error().why), built.error().detail);
      mutant = std::move(*built);
    }
    if (mutant->depth > options_.depth) return end(c, Fate::kTooDeep);
    if (mutant->where.empty() && canonicalText(mutant->program) == patternText_) return end(c, Fate::kIdentity);
    poly::Context context(mutant->shapes, options_.budget);
    {
      Stopwatch watch(c.seconds.filter);
      if (auto fate = filter(context, *mutant)) return end(c, *fate);
    }
    c.rule = Rule{.name = pattern_.name + "/" + planName(op_, plan),
                  .pattern = pattern_.name,
                  .family = planFamily(op_, plan),
                  .depth = mutant->depth,
                  .where = mutant->where,
                  .shapes = mutant->shapes,
                  .mutant = mutant->program,
                  .boxes = {},
                  .replacement = mutant->program,
                  .numerics = {},
                  .proof = {}};
    if (!proved(context, *mutant, c)) return;
    finish(c.rule);
  }

  std::optional<Fate> filter(const poly::Context& context, const Mutant& m) const {
    auto small = typicalShape(context, m.source, kFilterExtent);
    if (!small) return Fate::kEmptyClass;
    bool cheap = false;
    for (int64_t extent : kCostExtents) {
      auto shape = typicalShape(context, m.source, extent);
      auto before = arithmetic(m.source, *shape), after = arithmetic(m.program, *shape);
      cheap = cheap || (before && after && *after <= kCostFactor * *before);
    }
    if (!cheap) return Fate::kCost;
    auto share = agreement(m.source, m.program, *small);
    if (!share || *share < 0.5) return Fate::kFingerprint;
    return std::nullopt;
  }

  /// Proves the mutant, or corrects it and proves the corrected program.
  bool proved(const poly::Context& context, const Mutant& m, Candidate& c) const {
    std::optional<Equality> equality;
    {
      Stopwatch watch(c.seconds.prove);
      equality = proveEqual(context, m.source, m.program);
    }
    if (auto* p = std::get_if<Proved>(&*equality)) {
      c.rule.proof = std::move(p->proof);
      return true;
    }
    if (auto* u = std::get_if<Unknown>(&*equality)) {
      end(c, Fate::kUnknown, u->reason);
      return false;
    }
    Stopwatch watch(c.seconds.correct);
    auto source = analyse(m.source);
    auto corrected = correct(context, m, *source, std::get<ProvedOutside>(*equality).bad);
    if (!corrected) {
      end(c, Fate::kNoCorrection, corrected.error());
      return false;
    }
    poly::Context restricted(corrected->shapes, options_.budget);
    if (restricted.set({}, {}).isEmpty()) {
      end(c, Fate::kEmptyClass, "after correction");
      return false;
    }
    auto whole = proveEqual(restricted, m.source, corrected->replacement);
    if (auto* p = std::get_if<Proved>(&whole)) {
      c.rule.shapes = corrected->shapes;
      c.rule.replacement = std::move(corrected->replacement);
      c.rule.boxes = std::move(corrected->boxes);
      c.rule.proof = std::move(p->proof);
      return true;
    }
    auto* u = std::get_if<Unknown>(&whole);
    end(c, Fate::kUnproved, u ? u->reason : "still different after correction");
    return false;
  }

  static void finish(Rule& rule) {
    rule.shapes = minimal(rule.shapes);
    poly::Context context(rule.shapes);
    rule.numerics.spreadsNan = hasZeroSlots(context, rule.replacement);
  }

  const Pattern& pattern_;
  const MainOperator& op_;
  const SynthesisOptions& options_;
  std::string patternText_;
};

/// Keeps one of equal programs, and drops what is a smaller rule followed by a change of the main operator.
void select(const std::vector<Plan>& plans, std::vector<Candidate>& candidates) {
  std::set<std::string> seen;
  auto kept = [&](size_t i) { return candidates[i].fate == Fate::kKept; };
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!kept(i)) continue;
    if (!seen.insert(canonicalText(candidates[i].rule.replacement)).second) {
      candidates[i].fate = Fate::kDuplicate;
      continue;
    }
    bool derived = plans[i].target == Target::kConvTranspose || plans[i].target == Target::kConvOffset ||
                   plans[i].target == Target::kMatMulOffset;
    for (size_t j = 0; derived && kept(i) && j < plans.size(); ++j) {
      bool sameMoves = j != i && plans[j].target == Target::kConv && plans[j].moves == plans[i].moves &&
                       plans[j].exchanged == plans[i].exchanged;
      if (sameMoves && kept(j)) candidates[i].fate = Fate::kComposition;
    }
  }
}

Expected<PatternReport> runPattern(const Pattern& pattern,
                                   const SynthesisOptions& options,
                                   std::atomic<size_t>& done,
                                   size_t total,
                                   std::vector<Rule>& rules) {
  auto op = analyse(pattern.program);
  if (!op)
    return fail(ErrorKind::kUnsupported, op.error().what, "pattern " + pattern.name,
                "pattern mode needs one main operator");
  auto plans = enumeratePlans(*op);
  std::vector<Candidate> candidates(plans.size());
  Pipeline pipeline(pattern, *op, options);
  tbb::parallel_for(size_t{0}, plans.size(), [&](size_t i) {
    candidates[i] = pipeline.run(plans[i]);
    size_t now = ++done;
    if (options.progress) options.progress(now, total);
  });
  select(plans, candidates);
  PatternReport report{pattern.name, {}, {}};
  for (size_t i = 0; i < plans.size(); ++i) {
    Candidate& c = candidates[i];
    report.plans.push_back({planName(*op, plans[i]), c.fate, c.detail});
    report.seconds.build += c.seconds.build;
    report.seconds.filter += c.seconds.filter;
    report.seconds.prove += c.seconds.prove;
    report.seconds.correct += c.seconds.correct;
    if (c.fate == Fate::kKept) rules.push_back(std::move(c.rule));
  }
  return report;
}

}  // namespace

std::string_view fateName(Fate fate) {
  static constexpr std::string_view kNames[] = {
      "not applicable", "no vote", "shape",         "empty class", "too deep",    "identity",  "cost",
      "fingerprint",    "unknown", "no correction", "unproved",    "composition", "duplicate", "kept"};
  return kNames[static_cast<size_t>(fate)];
}

Expected<Synthesis> synthesize(const std::vector<Pattern>& patterns, const SynthesisOptions& options) {
  tbb::global_control threads(
      tbb::global_control::max_allowed_parallelism,
      options.threads > 0 ? static_cast<size_t>(options.threads) : std::max(1u, std::thread::hardware_concurrency()));
  size_t total = 0;
  for (const Pattern& p : patterns) {
    if (auto op = analyse(p.program)) total += enumeratePlans(*op).size();
  }
  std::atomic<size_t> done = 0;
  Synthesis result;
  for (const Pattern& p : patterns) {
    auto report = runPattern(p, options, done, total, result.rules.rules);
    if (!report) return tl::unexpected(report.error());
    result.reports.push_back(std::move(*report));
    result.rules.patterns.push_back(p);
  }
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(result.rules.patterns.begin(), result.rules.patterns.end(), byName);
  std::sort(result.rules.rules.begin(), result.rules.rules.end(), byName);
  return result;
}

}  // namespace pet
