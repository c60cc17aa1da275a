#include "applier/choose/attempt.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "applier/choose/whole_sums.h"
#include "applier/clean/simplify.h"
#include "applier/operators/onnx_rows.h"
#include "applier/operators/stored_operands.h"
#include "applier/replace/splice.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "ir/pieces.h"
#include "rules/rewrite/idioms.h"

namespace pet {
namespace {

/// Operators of a kind.
size_t countOf(const Program& program, const OpRow* op) {
  const auto& nodes = program.nodes();
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op == op; }));
}

/// The rule leaves fewer operators of the kind that it looks for: it may meet its own results, and comes to an end.
bool merges(const Rule& rule, const Pattern& pattern) {
  const OpRow* op = pattern.program.node(pattern.program.outputs()[0]).op;
  return countOf(rule.replacement, op) < countOf(pattern.program, op);
}

/// What computes on activations, in order.
struct Operator {
  const OpRow* op;
  Attributes attributes;
  std::vector<Shape> operands;
  friend bool operator==(const Operator&, const Operator&) = default;
};

std::vector<Operator> operatorsOf(const Program& program) {
  const std::vector<bool> constant = knownNodes(program);
  std::vector<Operator> operators;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (constant[i] || n.is(ops::kInput)) continue;
    operators.push_back({n.op, n.attributes, {}});
    for (Value v : n.operands)
      operators.back().operands.push_back(program.shape(v));
  }
  return operators;
}

/// The site as it would be, by itself.
View replacedAt(const MatchIndex& index, const Rewrite& rewrite) {
  const ViewPart part(index.view(), index.uses(), {rewrite.site.nodes.begin(), rewrite.site.nodes.end()});
  return splice(part.view(), {movedTo(part, rewrite)});
}

EmissionTrial tryEmissionIn(int64_t opset, const MatchIndex& index, const Rewrite& rewrite) {
  const View& view = index.view();
  if (isComputed(rewrite.site.element))
    return tryEmission(rewrite.replacement, opset, rewrite.site.element, view.openSizes);
  return tryEmission(replacedAt(index, rewrite), opset, view.openSizes);
}

/// In how many operators a node is written where the opset lacks its own.
int piecesAsWritten(const Program& program, int node) {
  const auto pieces = rewrite::piecesOf(program, node);
  if (!pieces) return 0;
  const auto& nodes = pieces->program.nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), isPiece));
}

/// Where the model has an operator in pieces: the opset that the operator needs, if the model's lacks it, so that it
/// would be written in pieces again, and these are more than half as many.
std::optional<int64_t> opsetOfWhole(const Graph& graph, const MatchIndex& index, const Rewrite& rewrite) {
  if (!rewrite.site.isInPieces) return std::nullopt;
  int64_t needed = 0;
  for (int i = 0; i < static_cast<int>(rewrite.replacement.nodes().size()); ++i) {
    const OnnxRow* row = findWriter(rewrite.replacement.nodes()[static_cast<size_t>(i)].op->name);
    if (!row || row->since <= graph.opset) continue;
    const int pieces = piecesAsWritten(rewrite.replacement, i);
    if (pieces == 0 || 2 * pieces > index.piecesOf(rewrite.site.anchor)) needed = std::max(needed, row->since);
  }
  return needed > graph.opset ? std::optional(needed) : std::nullopt;
}

/// The model's element types and opset are not for the replacement; else how many sizes it has to compute is entered.
std::optional<Reason> whyNotWritten(const Graph& graph, const MatchIndex& index, Rewrite& rewrite) {
  if (auto why = whyNotTyped(index, rewrite)) return Reason{ReasonKind::kNotWritten, *why};
  if (auto opset = opsetOfWhole(graph, index, rewrite)) {
    return Reason{ReasonKind::kOpset,
                  fmt::format("the operator needs opset {}, the model has {}", *opset, graph.opset),
                  {},
                  std::to_string(*opset)};
  }
  if (!isComputed(rewrite.site.element)) {
    if (auto why = whyNotExact(index, rewrite)) return Reason{ReasonKind::kNotWritten, *why};
  }
  const EmissionTrial trial = tryEmissionIn(graph.opset, index, rewrite);
  rewrite.sizeSteps = trial.sizeSteps;
  const auto& why = trial.whyNot;
  if (!why) return std::nullopt;
  for (int64_t opset = graph.opset + 1; opset <= kNewestOpset; ++opset) {
    if (!tryEmissionIn(opset, index, rewrite).whyNot)
      return Reason{ReasonKind::kOpset, *why, {}, std::to_string(opset)};
  }
  return Reason{ReasonKind::kNotWritten, *why};
}

/// At these shapes the rule has nothing to do: it pads by nothing, say. Where an operator is read away, its reading is
/// something else, and so is one that the model has in pieces.
bool changesNothing(const Rewrite& rewrite, const View& before, const View& after) {
  if (rewrite.site.isReadAway || rewrite.site.isInPieces) return false;
  return operatorsOf(before.program) == operatorsOf(after.program);
}

/// Every operator of the pattern adds a constant or multiplies by one.
bool onlyScales(const Program& pattern) {
  return std::all_of(pattern.nodes().begin(), pattern.nodes().end(), [&](const Node& n) {
    if (n.is(ops::kInput)) return true;
    return (n.is(ops::kMul) || n.is(ops::kAdd)) &&
           std::any_of(n.operands.begin(), n.operands.end(), [&](Value v) { return isConstant(pattern, v); });
  });
}

/// What scales is 1, and what is added 0, as before training: engines leave it out.
bool isNeutral(const View& view, const Site& site) {
  const Program& pattern = *site.program;
  ConstantEvaluator constants(view);
  return std::all_of(pattern.nodes().begin(), pattern.nodes().end(), [&](const Node& n) {
    return std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) {
      if (!isConstant(pattern, v)) return true;
      const auto constant = constants.value(site.operand(pattern.name(v)));
      const auto numbers = constant ? constant->numbers() : std::nullopt;
      const double neutral = n.is(ops::kMul) ? 1 : 0;
      return numbers && std::all_of(numbers->begin(), numbers->end(), [&](double x) { return x == neutral; });
    });
  });
}

/// A Conv, or the sum of one and a constant, which nothing else reads.
bool isOfConv(const MatchIndex& index, Value v) {
  const Program& program = index.view().program;
  if (index.readersOf(v).size() != 1) return false;
  const Node& n = program.node(v);
  if (n.is(ops::kConv)) return true;
  return n.is(ops::kAdd) && index.isConstant(n.operands[1]) && program.node(n.operands[0]).is(ops::kConv) &&
         index.readersOf(n.operands[0]).size() == 1;
}

/// Convs read it, and nothing else.
bool isReadByConvs(const MatchIndex& index, Value v) {
  const auto& readers = index.readersOf(v);
  return std::all_of(readers.begin(), readers.end(), [&](int reader) {
    return reader >= 0 && index.view().program.nodes()[static_cast<size_t>(reader)].is(ops::kConv);
  });
}

/// A scale and a bias by constants are worth writing in another way where an engine would leave its own layout for
/// them. Into a Conv in front engines take them by themselves (ONNX Runtime's ConvMulFusion and ConvAddFusion).
const char* whyLeftToEngine(const MatchIndex& index, const Site& site) {
  auto ofConv = [&](Value v) { return isOfConv(index, v); };
  auto forConvs = [&](Value v) { return isReadByConvs(index, v); };
  if (!onlyScales(*site.program)) return nullptr;
  if (std::any_of(site.inputs.begin(), site.inputs.end(), ofConv)) return "engines take it into the Conv in front";
  if (isNeutral(index.view(), site)) return "its numbers change nothing";
  const bool isBeside = !site.beside.isFirst || std::all_of(site.outputs.begin(), site.outputs.end(), forConvs);
  return isBeside ? nullptr : "no layout of the engine's is beside it";
}

/// Why what the rule would write is not wanted in place of what stands there.
std::optional<Reason> whyNotNew(const MatchIndex& index,
                                const Rewrite& rewrite,
                                const std::string& name,
                                const Policy& policy,
                                const EarlierRules& earlier) {
  if (policy.all && generation(name) == 0) return std::nullopt;
  if (const char* why = policy.all ? nullptr : whyLeftToEngine(index, rewrite.site))
    return Reason{ReasonKind::kNothingToDo, why};
  const ViewPart part(index.view(), index.uses(), {rewrite.site.nodes.begin(), rewrite.site.nodes.end()});
  const View after = simplify(replacedAt(index, rewrite));
  if (!policy.all && changesNothing(rewrite, part.view(), after))
    return Reason{ReasonKind::kNothingToDo, "nothing would change"};
  if (const Pattern* pattern = earlier.comingBack(name, part.view(), after, index.sizes()))
    return Reason{ReasonKind::kNothingToDo, fmt::format("it would be {} again, which a rule replaced", pattern->name)};
  return std::nullopt;
}

}  // namespace

tl::expected<Rewrite, Reason> rewriteAt(
    const Graph& graph, const MatchIndex& index, const SiteRule& c, const Policy& policy, const EarlierRules& earlier) {
  const View& view = index.view();
  std::string name = siteName(graph, view, c.site.anchor);
  if (isMadeBy(name, c.rule->name) && !merges(*c.rule, *c.site.pattern))
    return refuse(ReasonKind::kNothingToDo, "applied here before");
  if (generation(name) >= kMaxGenerations)
    return refuse(ReasonKind::kNothingToDo,
                  fmt::format("{} rules made this site, which is the limit", kMaxGenerations));
  auto rewrite = instantiate(c.site, *c.rule, c.symbols, name);
  if (!rewrite) return refuse(ReasonKind::kNotWritten, rewrite.error().what);
  for (size_t i = 0; i < c.site.outputs.size(); ++i) {
    const Shape &is = rewrite->replacement.shape(rewrite->replacement.outputs()[i]),
                &wanted = view.program.shape(c.site.outputs[i]);
    if (is != wanted)
      return refuse(ReasonKind::kNotWritten,
                    fmt::format("{} are not known to be the extents {}", str(is), str(wanted)));
  }
  if (auto why = whyNotWritten(graph, index, *rewrite)) return tl::unexpected(std::move(*why));
  auto before = static_cast<double>(weightElements(rewrite->pattern));
  auto after = static_cast<double>(weightElements(rewrite->replacement));
  if (4 * (after - policy.maxGrowth * before) > kSmallWeights) {
    const double factor = after / before;
    return tl::unexpected(Reason{ReasonKind::kGrowth,
                                 fmt::format("weights would grow to {:.1f} times their size", factor),
                                 {},
                                 fmt::format("{:.1f}", std::ceil(10 * factor) / 10)});
  }
  if (auto why = whyNotNew(index, *rewrite, name, policy, earlier)) return tl::unexpected(std::move(*why));
  return std::move(*rewrite);
}

}  // namespace pet
