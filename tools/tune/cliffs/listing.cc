#include "tools/tune/cliffs/listing.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/common/display.h"
#include "tools/common/table.h"

namespace pet::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 72;     ///< of what a cliff is called, and of its extents
constexpr size_t kMostRefused = 8;  ///< that are named

std::string cut(const std::string& text) {
  auto part = tool::cutTo(text, kColumns);
  return part.size() == text.size() ? text : std::string(tool::cutTo(text, kColumns - 1)) + "…";
}

std::string operatorsOf(const Candidate& c) {
  return fmt::format("{}", fmt::join(c.operators, " "));
}

std::string extentsOf(const Candidate& c) {
  return fmt::format("{} -> {}", fmt::join(c.inputs, " "), fmt::join(c.outputs, " "));
}

bool isBoundByFlops(const CliffReport& r, const Candidate& c) {
  return r.survey.peaks.isBoundByFlops(c.flops, c.bytes);
}

/// What was reached of the peak that bounds it, in 1e9 a second.
double achieved(const CliffReport& r, const Cliff& cliff) {
  const Candidate& c = r.candidates.all[cliff.candidate];
  return (isBoundByFlops(r, c) ? c.flops : c.bytes) / cliff.seconds / 1e9;
}

std::string peaksText(const Peaks& p) {
  std::vector<std::string> copies;
  for (const auto& [bytes, rate] : p.copies)
    copies.push_back(bytes < 1e6 ? fmt::format("{:.0f} at {:.0f} KB", rate / 1e9, bytes / 1024)
                                 : fmt::format("{:.0f} at {:.0f} MB", rate / 1e9, bytes / 1048576));
  return fmt::format("peaks: {:.0f} GFLOP/s; copies GB/s: {}; a call {:.1f} us\n", p.flops / 1e9,
                     fmt::join(copies, ", "), 1e6 * p.callSeconds);
}

std::string modelTable(const CliffReport& r) {
  std::vector<std::vector<std::string>> lines{{"MODEL", "MS", "OPERATORS", "NOTE"}};
  for (size_t m = 0; m < r.models.size(); ++m) {
    const auto mined = std::count_if(r.models[m].nodes().begin(), r.models[m].nodes().end(),
                                     [](const SubjectNode& n) { return n.mined; });
    const Timing& t = r.survey.models[m];
    const std::string note =
        t.seconds ? "" : "the sum of its operators, since: " + (t.refusal.empty() ? "no time" : t.refusal);
    lines.push_back({r.models[m].name(), fmt::format("{:.2f}", 1e3 * r.survey.modelSeconds(r.candidates, m)),
                     std::to_string(mined), note});
  }
  return tool::table(lines);
}

/// "srgan 31.2 % (x16), pix2pix 2.0 % (x1)": the largest share first.
std::string sharesOf(const CliffReport& r, const Cliff& cliff) {
  std::vector<std::pair<size_t, Cliff::InModel>> models(cliff.models.begin(), cliff.models.end());
  std::stable_sort(models.begin(), models.end(),
                   [](const auto& a, const auto& b) { return a.second.share > b.second.share; });
  std::vector<std::string> words;
  for (const auto& [m, in] : models)
    words.push_back(fmt::format("{} {:.1f} % (x{})", r.models[m].name(), 100 * in.share, in.count));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string cliffTable(const CliffReport& r) {
  if (r.cliffs.empty()) return "No operator is so far from the roofline.\n";
  std::vector<std::vector<std::string>> lines{
      {"", "OPERATORS", "EXTENTS", "MS", "ACHIEVED", "X ROOFLINE", "SHARE OF MODELS"}};
  for (const ListedCliff& listed : r.cliffs) {
    const Candidate& c = r.candidates.all[listed.cliff.candidate];
    lines.push_back({std::to_string(lines.size()), cut(operatorsOf(c)), cut(extentsOf(c)),
                     fmt::format("{:.3f}", 1e3 * listed.cliff.seconds),
                     fmt::format("{:.3g} {}", achieved(r, listed.cliff), isBoundByFlops(r, c) ? "GFLOP/s" : "GB/s"),
                     fmt::format("{:.1f}", listed.cliff.times()), sharesOf(r, listed.cliff)});
  }
  return tool::table(lines);
}

/// Candidates that the engine, or we, refused; operators first.
std::vector<size_t> refused(const CliffReport& r) {
  std::vector<size_t> which;
  for (size_t c = 0; c < r.candidates.all.size(); ++c) {
    if (!r.survey.candidates[c].refusal.empty()) which.push_back(c);
  }
  return which;
}

std::string notesText(const CliffReport& r) {
  std::string text;
  const auto which = refused(r);
  for (size_t i = 0; i < std::min(which.size(), kMostRefused); ++i) {
    const Candidate& c = r.candidates.all[which[i]];
    text += fmt::format("not timed: {} {}: {}\n", cut(operatorsOf(c)), cut(extentsOf(c)),
                        r.survey.candidates[which[i]].refusal);
  }
  if (which.size() > kMostRefused) text += fmt::format("not timed: {} more\n", which.size() - kMostRefused);
  size_t open = 0;
  for (size_t c = 0; c < r.candidates.operators; ++c)
    open += !r.survey.candidates[c].seconds && r.survey.candidates[c].refusal.empty();
  if (open) text += fmt::format("{} operators are left: the budget is spent\n", open);
  if (r.survey.groupsLeft)
    text += fmt::format("{} groups of operators that may be far from the roofline are left\n", r.survey.groupsLeft);
  if (!r.candidates.complete) text += "not all groups of operators were looked at\n";
  return text;
}

std::string filesText(const CliffReport& r) {
  std::string text;
  for (const ListedCliff& listed : r.cliffs) {
    if (!listed.file.empty())
      text += fmt::format("wrote {}{}\n", listed.file, listed.isKnown ? "" : " (no operator that pet knows)");
  }
  return text;
}

Json jsonOf(const CliffReport& r, const ListedCliff& listed) {
  const Candidate& c = r.candidates.all[listed.cliff.candidate];
  Json models = Json::array();
  for (const auto& [m, in] : listed.cliff.models)
    models.push_back({{"model", r.models[m].path()}, {"count", in.count}, {"share", in.share}});
  Json json{{"operators", c.operators},
            {"inputs", c.inputs},
            {"outputs", c.outputs},
            {"seconds", listed.cliff.seconds},
            {"flops", c.flops},
            {"bytes", c.bytes},
            {"bound", isBoundByFlops(r, c) ? "flops" : "bytes"},
            {"achieved", 1e9 * achieved(r, listed.cliff)},
            {"roofline", listed.cliff.roofline},
            {"times", listed.cliff.times()},
            {"lost", listed.cliff.lost},
            {"models", models}};
  if (!listed.file.empty()) json["file"] = listed.file;
  return json;
}

}  // namespace

std::string text(const CliffReport& r, const Options& o) {
  const RunnerHello& e = r.survey.engine;
  return fmt::format("{} {} on {} ({}), {} thread(s)\n", e.engine, e.version, e.machine.cpu, e.machine.isa, o.threads) +
         peaksText(r.survey.peaks) + "\n" + modelTable(r) + "\n" + cliffTable(r) + notesText(r) + filesText(r);
}

std::string json(const CliffReport& r, const Options& o) {
  const RunnerHello& e = r.survey.engine;
  Json copies = Json::array(), models = Json::array(), cliffs = Json::array(), refusals = Json::array();
  for (const auto& [bytes, rate] : r.survey.peaks.copies)
    copies.push_back({{"bytes", bytes}, {"rate", rate}});
  for (size_t m = 0; m < r.models.size(); ++m) {
    models.push_back({{"model", r.models[m].path()}, {"seconds", r.survey.modelSeconds(r.candidates, m)}});
    if (!r.survey.models[m].seconds) models.back()["refusal"] = r.survey.models[m].refusal;
  }
  for (const ListedCliff& listed : r.cliffs)
    cliffs.push_back(jsonOf(r, listed));
  for (size_t c : refused(r)) {
    refusals.push_back({{"operators", r.candidates.all[c].operators},
                        {"inputs", r.candidates.all[c].inputs},
                        {"refusal", r.survey.candidates[c].refusal}});
  }
  Json json{{"engine", e.engine},
            {"version", e.version},
            {"isa", e.machine.isa},
            {"cpu", e.machine.cpu},
            {"device", e.device.empty() ? o.device : e.device},
            {"threads", o.threads},
            {"peaks", {{"call", r.survey.peaks.callSeconds}, {"flops", r.survey.peaks.flops}, {"copies", copies}}},
            {"models", models},
            {"cliffs", cliffs},
            {"refused", refusals}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::tune
