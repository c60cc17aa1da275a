#include "tools/rules/taso.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/join.h"
#include "ir/ops/op.h"
#include "rules/taso/translate.h"
#include "rules/text.h"
#include "synth/cover/reprove.h"
#include "synth/judge/narrow.h"
#include "tools/common/parallel.h"
#include "tools/common/tool.h"

namespace pet::rules {
namespace {

std::string nameOf(size_t number) {
  return fmt::format("taso-{:03}", number);
}

std::string ruleText(const Judgement& j) {
  return print(j.pattern) + "\n" + print(j.rule) + "\n";
}

/// In how many groups the convolutions of a rule are, each answer once: "convolutions: 1 group, 2 groups".
std::string groupsText(const Judgement& j) {
  std::vector<std::string> words;
  for (const Program* p : {&j.pattern.program, &j.rule.replacement}) {
    for (const Node& n : p->nodes()) {
      if (!n.is(ops::kConv)) continue;
      const Expr& group = n.scalar("group");
      bool depthwise = Dim(group) == p->shape(n.operands[0])[1] && p->shape(n.operands[1])[1].asConstant() == 1;
      std::string word =
          depthwise ? "depthwise" : fmt::format("{} group{}", group.str(), group.asConstant() == 1 ? "" : "s");
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
    }
  }
  return words.empty() ? "" : fmt::format("convolutions: {}", fmt::join(words, ", "));
}

/// The class, or why it is unknown; then how the class was narrowed, and the witness.
std::string detailOf(const Judgement& j) {
  std::vector<std::string> parts{j.verdict == Verdict::kProved ? print(j.rule.shapes) : j.reason};
  if (parts.front().empty()) parts.clear();
  if (j.verdict == Verdict::kProved) {
    if (std::string groups = groupsText(j); !groups.empty()) parts.push_back(std::move(groups));
  }
  for (const auto& [symbol, value] : j.narrowed)
    parts.push_back(fmt::format("with {} = {}", symbol, value.str()));
  if (j.witness) parts.push_back((j.narrowed.empty() ? "" : "else ") + witnessLine(*j.witness));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// With any number of groups in its convolutions, or else with the least number.
Judgement judged(const taso::Substitution& substitution, size_t number) {
  Judgement result;
  for (taso::Groups groups : {taso::Groups::kAny, taso::Groups::kLeast}) {
    auto t = taso::translate(substitution, nameOf(number), groups);
    if (!t) {
      result = Judgement();
      result.reason = t.error().message();
      continue;
    }
    result = judge(t->pattern, t->rule, t->narrowings);
    if (result.verdict == Verdict::kRefuted) {
      Judgement narrow = judge(t->pattern, t->rule, t->lastNarrowings, {}, 1);
      if (narrow.verdict == Verdict::kProved) result = std::move(narrow);
    }
    if (result.verdict == Verdict::kProved) break;
  }
  return result;
}

/// The proved ones, to rewrite with.
cover::KnownEquations equationsOf(const std::vector<TasoRule>& rules) {
  cover::KnownEquations known;
  for (const TasoRule& r : rules) {
    if (r.judgement.verdict != Verdict::kProved) continue;
    if (auto e = rewrite::equationOf(r.judgement.pattern, r.judgement.rule)) known.add(std::move(*e));
  }
  known.addRanks({2, 4});
  return known;
}

/// "taso-003/target backwards, then taso-001/target", each step proved: a rule that the prover does not know may follow
/// from those that it knows. Empty where no chain is found.
std::string derivationOf(const Judgement& j, const cover::KnownEquations& known) {
  if (j.verdict != Verdict::kUnknown || j.pattern.program.outputs().empty()) return "";
  auto goal = rewrite::equationOf(j.pattern, j.rule);
  if (!goal) return "";
  auto chain = cover::findChain(*goal, known);
  if (!chain || chain->steps.empty() || cover::faultOf(*chain, j.pattern, j.rule)) return "";
  return joined(chain->steps, ", then ", [&](const cover::Step& s) {
    return known.all()[s.equation].name + (s.direction == rewrite::Direction::kForward ? "" : " backwards");
  });
}

}  // namespace

Expected<std::vector<TasoRule>> judgeTaso(std::string_view bytes,
                                          const std::string& file,
                                          const tool::Workers& workers) {
  auto substitutions = taso::readSubstitutions(bytes, file);
  if (!substitutions) return tl::unexpected(substitutions.error());
  return tool::inParallel(
      "proving", substitutions->size(), workers,
      [&](size_t i) {
        return TasoRule{nameOf(i), judged((*substitutions)[i], i)};
      },
      nameOf);
}

Expected<TasoImport> importTaso(std::string_view bytes, const std::string& file, const tool::Workers& workers) {
  auto all = judgeTaso(bytes, file, workers);
  if (!all) return tl::unexpected(all.error());
  const cover::KnownEquations known = equationsOf(*all);
  TasoImport import;
  std::map<Verdict, size_t> count;
  for (const TasoRule& rule : *all) {
    const Judgement& j = rule.judgement;
    ++count[j.verdict];
    std::string detail = detailOf(j), derivation = derivationOf(j, known);
    if (!derivation.empty()) detail += "; but it follows from " + derivation;
    import.report += fmt::format("{:<7} {} - {}\n", verdictName(j.verdict), rule.name, detail);
    if (j.verdict == Verdict::kProved) import.rules += ruleText(j);
  }
  import.report += fmt::format("{} proved, {} refuted, {} unknown\n", count[Verdict::kProved], count[Verdict::kRefuted],
                               count[Verdict::kUnknown]);
  return import;
}

}  // namespace pet::rules
