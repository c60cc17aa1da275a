#include "synth/cover/redundancy.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/ops/op.h"

namespace pet::cover {

using rewrite::Direction;
using rewrite::Equation;

namespace {

/// A rule and what it says; without an equation it is kept.
struct Entry {
  const Rule* rule = nullptr;
  std::optional<Equation> equation;
  size_t later = 0;  ///< how often it was found to be an instance of a rule behind it
};

size_t operators(const Equation& e) {
  size_t inputs = e.left.inputs().size();
  return e.left.nodes().size() + e.right.nodes().size() - 2 * inputs;
}

bool comesBefore(const Entry& a, const Entry& b) {
  if (!a.equation || !b.equation) return std::pair(!!b.equation, a.rule->name) < std::pair(!!a.equation, b.rule->name);
  auto key = [](const Entry& e) {
    return std::tuple(operators(*e.equation), e.later, -static_cast<int64_t>(e.equation->shapes.symbols.size()),
                      -static_cast<int64_t>(e.equation->left.inputs().size()), e.rule->name);
  };
  return key(a) < key(b);
}

/// Equal for equations of which one may be an instance of the other, with as many operators.
using Signature = std::vector<std::vector<std::string_view>>;
Signature signatureOf(const Equation& e) {
  Signature result;
  for (const Program* side : {&e.left, &e.right}) {
    result.emplace_back();
    for (const Node& n : side->nodes()) {
      if (!n.is(ops::kInput)) result.back().push_back(n.op->name);
    }
    std::sort(result.back().begin(), result.back().end());
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The inputs that a value is computed from.
std::set<Value> inputsOf(const Program& p, Value v) {
  std::set<Value> inputs, seen;
  std::vector<Value> open{v};
  while (!open.empty()) {
    Value next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (p.node(next).is(ops::kInput)) inputs.insert(next);
    open.insert(open.end(), p.node(next).operands.begin(), p.node(next).operands.end());
  }
  return inputs;
}

/// The equation's outputs, in parts that share no input.
std::vector<std::vector<size_t>> independentOutputs(const Equation& e) {
  size_t count = e.left.outputs().size();
  std::vector<size_t> part(count);
  std::iota(part.begin(), part.end(), 0);
  std::map<size_t, size_t> partOf;  // by input
  for (size_t o = 0; o < count; ++o) {
    for (const Program* side : {&e.left, &e.right}) {
      std::vector<Value> all = side->inputs();
      std::set<Value> own = inputsOf(*side, side->outputs()[o]);
      for (size_t i = 0; i < all.size(); ++i) {
        if (!own.contains(all[i])) continue;
        size_t other = part[partOf.emplace(i, o).first->second], mine = part[o];
        std::replace(part.begin(), part.end(), std::max(other, mine), std::min(other, mine));
      }
    }
  }
  std::map<size_t, std::vector<size_t>> parts;
  for (size_t o = 0; o < count; ++o)
    parts[part[o]].push_back(o);
  std::vector<std::vector<size_t>> result;
  for (auto& [first, outputs] : parts)
    result.push_back(std::move(outputs));
  return result;
}

/// The program with some of its outputs.
Program withOutputs(const Program& p, const std::vector<size_t>& which) {
  std::vector<Value> outputs;
  for (size_t o : which)
    outputs.push_back(p.outputs()[o]);
  return std::move(ProgramBuilder(p)).finish(std::move(outputs)).withoutDeadNodes();
}

class Reducer {
 public:
  Reducer(const RuleSet& rules, const ChainLimits& limits, const ReportShare& progress)
      : rules_(rules), limits_(limits), progress_(progress) {}

  MinimalSet run() {
    std::vector<Entry> entries;
    for (const Rule& r : rules_.rules) {
      auto e = rewrite::equationOf(*rules_.findPattern(r.pattern), r);
      entries.push_back({&r, e ? std::optional(std::move(*e)) : std::nullopt});
    }
    MinimalSet result;
    do {
      std::sort(entries.begin(), entries.end(), comesBefore);
    } while (!reduce(entries, result));
    std::sort(result.dropped.begin(), result.dropped.end(),
              [](const Dropped& a, const Dropped& b) { return a.rule < b.rule; });
    return result;
  }

 private:
  /// Keeps what does not follow from what is kept before it. False: a rule is an instance of one that came later, and
  /// is to be looked at after it.
  bool reduce(std::vector<Entry>& entries, MinimalSet& result) {
    known_ = KnownEquations();
    result.dropped.clear();
    std::set<std::string> kept;
    std::map<Signature, std::vector<Entry*>> alike;
    bool settled = true;
    for (Entry& entry : entries) {
      const auto done = static_cast<double>(&entry - entries.data());
      if (progress_) progress_(done / static_cast<double>(entries.size()));
      auto why = entry.equation ? redundancy(*entry.equation) : std::nullopt;
      if (why) {
        result.dropped.push_back(std::move(*why));
        continue;
      }
      kept.insert(entry.rule->name);
      if (!entry.equation) continue;
      known_.add(*entry.equation);
      auto& others = alike[signatureOf(*entry.equation)];
      for (Entry* other : others) {
        if (!isInstance(*other->equation, *entry.equation)) continue;
        ++other->later;
        settled = false;
      }
      others.push_back(&entry);
    }
    result.kept = only(kept);
    return settled;
  }

  RuleSet only(const std::set<std::string>& names) const {
    RuleSet set;
    std::set<std::string> patterns;
    for (const Rule& r : rules_.rules) {
      if (!names.contains(r.name)) continue;
      set.rules.push_back(r);
      patterns.insert(r.pattern);
    }
    for (const Pattern& p : rules_.patterns) {
      if (patterns.contains(p.name)) set.patterns.push_back(p);
    }
    return set;
  }

  std::optional<Dropped> redundancy(const Equation& e) const {
    ChainLimits one = limits_;
    one.steps = std::min<size_t>(one.steps, 1);
    auto chain = findChain(e, known_, one);
    if (chain && chain->steps.empty()) return Dropped{e.name, Redundancy::kSameProgram, {}};
    if (chain && chain->steps[0].place == Step::Place::kInstance)
      return dropped(e, isRenaming(e, *chain) ? Redundancy::kRenaming : Redundancy::kInstance, *chain);
    if (auto product = asProduct(e)) return product;
    if (chain) return dropped(e, Redundancy::kShared, *chain);
    if (limits_.steps < 2) return std::nullopt;
    chain = findChain(e, known_, limits_);
    return chain ? std::optional(dropped(e, Redundancy::kChain, *chain)) : std::nullopt;
  }

  Dropped dropped(const Equation& e, Redundancy why, const Chain& chain) const {
    Dropped result{e.name, why, {}};
    addNames(chain, result.by);
    return result;
  }

  void addNames(const Chain& chain, std::vector<std::string>& into) const {
    for (const Step& s : chain.steps) {
      const std::string& name = known_.all()[s.equation].name;
      if (std::find(into.begin(), into.end(), name) == into.end()) into.push_back(name);
    }
  }

  /// The more general one is an instance of this one as well.
  bool isRenaming(const Equation& e, const Chain& chain) const {
    const Equation& general = known_.all()[chain.steps[0].equation];
    return operators(general) == operators(e) && isInstance(general, e);
  }

  bool isInstance(const Equation& e, const Equation& general) const {
    KnownEquations one;
    one.add(general);
    auto chain = findChain(e, one, {.steps = 1, .backwards = limits_.backwards});
    return chain && chain->steps.size() == 1 && chain->steps[0].place == Step::Place::kInstance;
  }

  std::optional<Dropped> asProduct(const Equation& e) const {
    auto parts = independentOutputs(e);
    if (parts.size() < 2) return std::nullopt;
    Dropped result{e.name, Redundancy::kProduct, {}};
    for (const auto& outputs : parts) {
      Equation part{e.name, withOutputs(e.left, outputs), withOutputs(e.right, outputs), e.shapes, e.anyNumbers};
      auto chain = findChain(part, known_, limits_);
      if (!chain) return std::nullopt;
      addNames(*chain, result.by);
    }
    return result;
  }

  const RuleSet& rules_;
  const ChainLimits& limits_;
  const ReportShare& progress_;
  KnownEquations known_;  ///< the kept ones
};

}  // namespace

std::string_view redundancyName(Redundancy why) {
  switch (why) {
    case Redundancy::kSameProgram:
      return "one program on both sides";
    case Redundancy::kRenaming:
      return "renaming";
    case Redundancy::kInstance:
      return "instance";
    case Redundancy::kProduct:
      return "product";
    case Redundancy::kShared:
      return "shared part";
    default:
      return "chain";
  }
}

MinimalSet minimalSet(const RuleSet& rules, const ChainLimits& limits, const ReportShare& progress) {
  return Reducer(rules, limits, progress).run();
}

}  // namespace pet::cover
