#include "rules/check/numerics/numerics.h"

#include <algorithm>

#include <fmt/format.h>

#include "rules/check/meaning/function.h"

// What a rule says about its rounding is at most what can be derived.
namespace pet::check {
namespace {

using Kind = Numerics::Kind;

constexpr double kRounding = 1e-9;  ///< of factors themselves: sums of positive numbers in double precision

bool reads(const Program& program, std::string_view op) {
  return std::any_of(program.nodes().begin(), program.nodes().end(), [&](const Node& n) { return opOf(n) == op; });
}

/// Its values leap: next to some numbers what is rounded may have another one.
bool hasSteps(std::string_view op) {
  return op == "Not" || op == "Floor" || op == "Ceil" || op == "Mod";
}

/// Inputs, values of functions and maxima are moved, and at most added or multiplied in pairs before the next function.
/// Nothing is added where a value may be negated or be missing, for that may cancel.
bool operatesOnPairsAtMost(const Program& program) {
  bool cancels = false, hasMaxima = false, hasFactors = reads(program, "Mul");
  for (const Node& node : program.nodes()) {
    cancels = cancels || fillsWithZeros(opOf(node)) || opOf(node) == "Neg";
    hasMaxima = hasMaxima || isMaximum(opOf(node));
  }
  std::vector<bool> isPair;
  for (const Node& node : program.nodes()) {
    std::string_view op = opOf(node);
    bool ofPairs = std::any_of(node.operands.begin(), node.operands.end(),
                               [&](Value v) { return isPair[static_cast<size_t>(v.node)]; });
    // A number may be what a function has at another number.
    auto number = node.attributes.find("value");
    if (number != node.attributes.end() && node.number("value") != 0) return false;
    if (op == "Input" || isMaximum(op)) {
      isPair.push_back(false);
    } else if (functionOf(op)) {
      // A function that is rounded need not be monotone: the largest of its values may not be that of the largest. Nor
      // need it commute with factors.
      const bool isExact = op == "Relu" || op == "Clip" || op == "Abs" || op == "Max";
      if (hasSteps(op) || ((hasMaxima || hasFactors) && !isExact)) return false;
      isPair.push_back(false);
    } else if (onlyMoves(op) || op == "Identity" || op == "Neg") {
      isPair.push_back(ofPairs);
    } else if ((op == "Add" || op == "Mul") && !ofPairs && !cancels) {
      isPair.push_back(true);
    } else {
      return false;
    }
  }
  return true;
}

/// No value is compared with 0 whose being 0 may be an accident of rounding, nor cut off at whole numbers where
/// rounding may carry it over one. Inputs and numbers, and what is moved or chosen of them, are what they are; and a
/// difference of such values rounds to 0 only where it is 0.
bool comparesGivenValues(const Program& program) {
  enum Depth { kGiven, kDifference, kComputed };
  std::vector<Depth> depths;
  std::vector<bool> fromWeights;
  for (int n = 0; n < static_cast<int>(program.nodes().size()); ++n) {
    const Node& node = program.nodes()[static_cast<size_t>(n)];
    const std::string_view op = opOf(node);
    Depth deepest = kGiven;
    bool isWeight = op != "Input" || isConstant(program, {n, 0});
    for (Value v : node.operands) {
      deepest = std::max(deepest, depths[static_cast<size_t>(v.node)]);
      isWeight = isWeight && fromWeights[static_cast<size_t>(v.node)];
    }
    if (hasSteps(op) && deepest > (op == "Not" ? kDifference : kGiven)) return false;
    const bool takesOne =
        onlyMoves(op) || isMaximum(op) || op == "Identity" || op == "Neg" || op == "Relu" || op == "Abs" || op == "Max";
    if (op == "Input" || hasSteps(op) || isWeight)
      deepest = kGiven;
    else if (!takesOne)
      deepest = (op == "Sub" || op == "Add") && deepest == kGiven ? kDifference : kComputed;
    depths.push_back(deepest);
    fromWeights.push_back(isWeight);
  }
  return true;
}

/// The program with a weight for each of the numbers that stand for others, in the place of the constants that are one:
/// weights may be anything.
Program withWeights(const Program& program, const std::vector<double>& numbers) {
  ProgramBuilder builder;
  std::map<double, Value> weights;
  for (double number : numbers)
    weights.emplace(number, builder.input(fmt::format("any {}", number), {}, true));
  std::map<Value, Value> now;
  for (int n = 0; n < static_cast<int>(program.nodes().size()); ++n) {
    const Node& node = program.nodes()[static_cast<size_t>(n)];
    std::vector<Value> operands;
    for (Value v : node.operands)
      operands.push_back(now.at(v));
    auto weight = opOf(node) == "Constant" ? weights.find(node.number("value")) : weights.end();
    Value first;
    if (opOf(node) == "Input") {
      first = builder.input(node.names[0], node.shapes[0], node.scalar("constant") == Expr(1));
    } else if (weight != weights.end()) {
      first = *builder.add("Expand", {weight->second}, {{"shape", node.list("shape")}});
    } else {
      first = *builder.add(*node.op, std::move(operands), node.attributes, node.names);
    }
    for (int o = 0; o < static_cast<int>(node.shapes.size()); ++o)
      now[{n, o}] = {first.node, first.output + o};
  }
  std::vector<Value> outputs;
  for (Value v : program.outputs())
    outputs.push_back(now.at(v));
  return std::move(builder).finish(std::move(outputs));
}

/// `empty`: what must hold nowhere for it to be so.
Numerics derived(const Program& pattern,
                 const Program& replacement,
                 const std::vector<double>& anyNumbers,
                 std::vector<Formula>& empty) {
  Numerics result{Kind::kUnbounded, 1};
  auto from = expanded(pattern.withoutDeadNodes()), to = expanded(replacement.withoutDeadNodes());
  if (!from || !to) return result;
  *from = withWeights(*from, anyNumbers);
  *to = withWeights(*to, anyNumbers);
  // An engine's powers round by themselves, whatever those of the roots that they stand for.
  const bool hasPowers = reads(pattern, "Pow") || reads(replacement, "Pow");
  if (!hasPowers && operatesOnPairsAtMost(*from) && operatesOnPairsAtMost(*to)) {
    result.kind = Kind::kBitEqual;
    return result;
  }
  // A Softmax is computed with its largest operand subtracted; exponentials by themselves overflow.
  auto overflows = [](const Program& p) { return reads(p, "Exp") || reads(p, "Exponential"); };
  if (overflows(replacement) && !overflows(pattern)) return result;
  if (!comparesGivenValues(*from) || !comparesGivenValues(*to)) return result;
  auto cancels = amplification(*to);
  auto onTheWay = valuesOnTheWay(*from, *to);
  if (!cancels || !onTheWay) return result;
  empty = std::move(onTheWay->empty);
  result.kappa = std::max(*cancels, onTheWay->factor);
  result.kind = result.kappa > 1 ? Kind::kConditioned : Kind::kSameTerms;
  result.spreadsNan = *cancels > 1;
  return result;
}

/// What the proofs take apart. (Multiples are equal terms.)
Unfolded takenApart(const Rule& rule) {
  Unfolded all;
  for (const Proof& p : rule.proofs) {
    for (const std::string& op : p.unfold) {
      if (op != "multiples" && std::find(all.begin(), all.end(), op) == all.end()) all.push_back(op);
    }
  }
  return all;
}

/// The program by the definitions of what is taken apart, if these are all that is, and no two of their terms are
/// there at once. Nullopt: they may cancel.
std::optional<Program> byDefinitions(const Program& program, const Unfolded& apart) {
  auto simple = expanded(program);
  auto isDefined = [](std::string_view op) { return Definitions::has(op) || isSign(op); };
  if (!simple || !std::all_of(apart.begin(), apart.end(), isDefined)) return std::nullopt;
  for (const Node& node : simple->nodes()) {
    const bool isApart = std::find(apart.begin(), apart.end(), opOf(node)) != apart.end();
    if (isApart && !Definitions::hasOneTermAtATime(node)) return std::nullopt;
  }
  auto result = expanded(*simple, apart);
  return result ? std::optional(std::move(*result)) : std::nullopt;
}

/// Of a replacement that is nearly exact, whatever the pattern computes, and which may read more than that. Nothing
/// where a number stands for others, since that goes by ranges of values.
Numerics byItself(const Pattern& pattern, const Program& replacement) {
  auto error = pattern.anyNumbers.empty() ? errorByItself(replacement) : std::nullopt;
  if (!error) return {Kind::kUnbounded, 1, false, true};
  return {Kind::kConditioned, error->units, error->orOfOne, true};
}

/// Nothing more is said than what is derived.
bool isCovered(const Numerics& said, const Numerics& by) {
  if (said.kind != Kind::kConditioned || by.kind != Kind::kConditioned) return said.kind >= by.kind;
  return said.kappa >= by.kappa * (1 - kRounding) && (said.ofOne || !by.ofOne);
}

}  // namespace

Claims numericsClaims(const Pattern& pattern, const Rule& rule, const Program& source) {
  const Numerics& said = rule.numerics;
  const std::string what = "numerics " + said.str();
  if (said.kind == Kind::kUnbounded && said.spreadsNan) return {{.what = what}};
  Claims claims;
  try {
    // The derivation rests on equal terms of the programs as they are written, or by their definitions.
    std::optional<Program> from = source, to = rule.replacement;
    if (const Unfolded apart = takenApart(rule); !apart.empty()) {
      from = byDefinitions(source, apart);
      to = byDefinitions(rule.replacement, apart);
    }
    const bool hasTerms = from && to;
    if (said.kind != Kind::kUnbounded || !hasTerms) {
      std::vector<Formula> empty;
      Numerics by = hasTerms ? derived(*from, *to, pattern.anyNumbers, empty) : byItself(pattern, rule.replacement);
      if (!isCovered(said, by)) return {fails(what, "derived from the programs: " + by.str())};
      if (by.spreadsNan && !said.spreadsNan)
        return {fails(what, "terms that cancel do not where one is NaN: it spreads NaN")};
      for (Formula& f : empty)
        claims.push_back({.what = what + ": functions are taken of what the pattern takes them of",
                          .given = std::move(f),
                          .goal = Formula::no()});
    }
    if (!said.spreadsNan && said.kind != Kind::kBitEqual) {
      auto simple = expanded(to->withoutDeadNodes());
      if (!simple) return {open(what, simple.error().message())};
      Claims more = claimsOfNoZeros(what, withWeights(*simple, pattern.anyNumbers));
      std::move(more.begin(), more.end(), std::back_inserter(claims));
    }
  } catch (const Opaque& e) {
    return {fails(what, std::string("nothing can be derived from the programs: ") + e.what())};
  }
  if (claims.empty()) claims.push_back({.what = what});
  return claims;
}

}  // namespace pet::check
