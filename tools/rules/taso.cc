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

struct Judged {
  Verdict verdict = Verdict::kUnknown;
  std::string detail;
  std::string text;  ///< of a proved one
};

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
Judged judged(const taso::Substitution& substitution, size_t number) {
  Judged result;
  for (taso::Groups groups : {taso::Groups::kAny, taso::Groups::kLeast}) {
    auto t = taso::translate(substitution, nameOf(number), groups);
    if (!t) {
      result = {Verdict::kUnknown, t.error().message(), ""};
      continue;
    }
    Judgement j = judge(t->pattern, t->rule, t->narrowings);
    result = {j.verdict, detailOf(j), j.verdict == Verdict::kProved ? ruleText(j) : ""};
    if (j.verdict == Verdict::kProved) break;
  }
  return result;
}

}  // namespace

Expected<TasoImport> importTaso(std::string_view bytes, const std::string& file, unsigned threads) {
  auto substitutions = taso::readSubstitutions(bytes, file);
  if (!substitutions) return tl::unexpected(substitutions.error());
  auto all = tool::inParallel(
      "proving", substitutions->size(), threads, [&](size_t i) { return judged((*substitutions)[i], i); }, nameOf);
  TasoImport import;
  std::map<Verdict, size_t> count;
  for (size_t i = 0; i < all.size(); ++i) {
    ++count[all[i].verdict];
    import.report += fmt::format("{:<7} {} - {}\n", verdictName(all[i].verdict), nameOf(i), all[i].detail);
    import.rules += all[i].text;
  }
  import.report += fmt::format("{} proved, {} refuted, {} unknown\n", count[Verdict::kProved], count[Verdict::kRefuted],
                               count[Verdict::kUnknown]);
  return import;
}

}  // namespace pet::rules
