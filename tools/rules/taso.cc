#include "tools/rules/taso.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/taso/translate.h"
#include "rules/text.h"
#include "synth/judge.h"
#include "tools/common/parallel.h"

namespace pet::rules {
namespace {

std::string nameOf(size_t number) {
  return fmt::format("taso-{:03}", number);
}

std::string ruleText(const Judgement& j) {
  return print(j.pattern) + "\n" + print(j.rule) + "\n";
}

/// The class, or why it is unknown; then how the class was narrowed, and the witness.
std::string detailOf(const Judgement& j) {
  std::vector<std::string> parts{j.verdict == Verdict::kProved ? print(j.rule.shapes) : j.reason};
  if (parts.front().empty()) parts.clear();
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
    if (result.verdict == Verdict::kProved) break;
  }
  return result;
}

}  // namespace

Expected<std::vector<TasoRule>> judgeTaso(std::string_view bytes, const std::string& file, unsigned threads) {
  auto substitutions = taso::readSubstitutions(bytes, file);
  if (!substitutions) return tl::unexpected(substitutions.error());
  return tool::inParallel(
      "proving", substitutions->size(), threads,
      [&](size_t i) {
        return TasoRule{nameOf(i), judged((*substitutions)[i], i)};
      },
      nameOf);
}

Expected<TasoImport> importTaso(std::string_view bytes, const std::string& file, unsigned threads) {
  auto all = judgeTaso(bytes, file, threads);
  if (!all) return tl::unexpected(all.error());
  TasoImport import;
  std::map<Verdict, size_t> count;
  for (const TasoRule& rule : *all) {
    const Judgement& j = rule.judgement;
    ++count[j.verdict];
    import.report += fmt::format("{:<7} {} - {}\n", verdictName(j.verdict), rule.name, detailOf(j));
    if (j.verdict == Verdict::kProved) import.rules += ruleText(j);
  }
  import.report += fmt::format("{} proved, {} refuted, {} unknown\n", count[Verdict::kProved], count[Verdict::kRefuted],
                               count[Verdict::kUnknown]);
  return import;
}

}  // namespace pet::rules
