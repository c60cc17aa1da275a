#include "tools/synth/prove.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rules/pack/file.h"
#include "rules/text.h"
#include "synth/judge/pipeline.h"
#include "tools/common/status_line.h"

namespace pet::tool {
namespace {

using Json = nlohmann::ordered_json;

/// A candidate and where it stands.
struct Candidate {
  std::string file;
  Pattern pattern;
  Rule rule;
};

/// What became of a candidate, or of a file with an operator that is not in the vocabulary (then there is no
/// candidate).
struct Judgement {
  std::string file;
  const Candidate* candidate = nullptr;
  Decision decision;
  std::optional<Rule> rule;  ///< proved: as it enters a pack

  bool proved() const { return rule.has_value(); }
};

std::string shownName(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

Expected<std::string> read(const std::string& file) {
  if (file != "-") return readFile(file, ErrorKind::kText);
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (std::cin.bad()) return fail(ErrorKind::kText, "cannot read", shownName(file));
  return text;
}

/// What the files hold.
struct Input {
  std::vector<Candidate> candidates;
  std::vector<Judgement> outOfVocabulary;
};

/// A file may use the patterns of earlier ones; of several with one name, the last one's.
Expected<Input> readAll(const std::vector<std::string>& files) {
  Input input;
  RuleSet known;
  for (const std::string& file : files) {
    const std::string shown = shownName(file);
    auto text = read(file);
    if (!text) return tl::unexpected(text.error());
    auto set = parseRules(*text, shown, known);
    if (!set && set.error().kind == ErrorKind::kUnsupported) {
      input.outOfVocabulary.push_back({shown, nullptr, Unknown{set.error().message()}, std::nullopt});
      continue;
    }
    if (!set) return tl::unexpected(set.error());
    for (Pattern& p : set->patterns) {
      auto at = std::lower_bound(known.patterns.begin(), known.patterns.end(), p,
                                 [](const Pattern& a, const Pattern& b) { return a.name < b.name; });
      if (at != known.patterns.end() && at->name == p.name) {
        *at = std::move(p);
      } else {
        known.patterns.insert(at, std::move(p));
      }
    }
    for (Rule& r : set->rules)
      input.candidates.push_back({shown, *known.findPattern(r.pattern), std::move(r)});
  }
  if (!input.candidates.empty() || !input.outOfVocabulary.empty()) return input;
  return fail(ErrorKind::kText, "no rule to prove", shownName(files.front()),
              "a candidate is a 'rule NAME of PATTERN { class … replacement { … } }'");
}

/// The candidates as they would be written. Errors: a name that stands for two things.
Expected<RuleSet> asRules(const std::vector<Candidate>& candidates) {
  RuleSet all;
  for (const Candidate& c : candidates) {
    if (auto ok = addRules(all, {{c.pattern}, {c.rule}}, c.file); !ok) return tl::unexpected(ok.error());
  }
  return all;
}

Judgement judge(const Candidate& c) {
  auto [decision, rule] = judgeClaim(c.pattern, c.rule);
  return {c.file, &c, std::move(decision), std::move(rule)};
}

// --- What is printed ---

/// "FILE: RULE: verdict", and boxes, witness or reason below, indented.
std::string textOf(const Judgement& j) {
  std::string text =
      fmt::format("{}: {}{}\n", j.file, j.candidate ? j.candidate->rule.name + ": " : "", verdictOf(j.decision));
  std::string lines = explain(j.decision);
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = lines.find('\n', begin) + 1;
    text += "  " + lines.substr(begin, end - begin);
    begin = end;
  }
  return text;
}

Json jsonOf(const Witness& w) {
  Json j = {{"symbols", w.symbols}, {"output", w.output}};
  if (w.patternValue.empty()) {
    j["pattern_extents"] = w.patternExtents;
    j["candidate_extents"] = w.candidateExtents;
    return j;
  }
  j["position"] = w.position;
  j["pattern"] = w.patternValue;
  j["candidate"] = w.candidateValue;
  j["inputs"] = Json::object();
  for (const auto& [name, x] : w.inputs)
    j["inputs"][name] = {{"extents", x.extents}, {"values", x.data}};
  return j;
}

Json jsonOf(const Judgement& j) {
  Json json = {{"file", j.file}};
  if (j.candidate) {
    json["rule"] = j.candidate->rule.name;
    json["pattern"] = j.candidate->pattern.name;
  }
  json["verdict"] = verdictOf(j.decision);
  if (j.rule) json["record"] = print(*j.rule);
  if (const auto* outside = std::get_if<ProvedOutsideBoxes>(&j.decision)) {
    if (!outside->output.empty()) json["output"] = outside->output;
    json["boxes"] = Json::array();
    for (const Box& b : outside->boxes)
      json["boxes"].push_back(print(b));
    if (outside->witness) json["witness"] = jsonOf(*outside->witness);
  } else if (const auto* refuted = std::get_if<Refuted>(&j.decision)) {
    json["reason"] = refuted->reason;
    json["witness"] = jsonOf(refuted->witness);
  } else if (const auto* violated = std::get_if<Violated>(&j.decision)) {
    json["reason"] = violated->reason();
    if (violated->member) json["symbols"] = *violated->member;
  } else if (const auto* unknown = std::get_if<Unknown>(&j.decision)) {
    json["reason"] = unknown->reason;
  }
  return json;
}

Expected<void> write(const std::vector<Judgement>& judgements, const std::string& output) {
  RuleSet proved;
  for (const Judgement& j : judgements) {
    if (auto ok = addRules(proved, {{j.candidate->pattern}, {*j.rule}}, j.file); !ok) return ok;
  }
  return writeFile(output, print(proved));
}

}  // namespace

void declareProve(CLI::App& app, ProveOptions& o) {
  app.add_option("FILE", o.files,
                 "text files with patterns and candidates (rules without a proof); a later one may use the patterns of "
                 "an earlier one; - is standard input")
      ->required()
      ->check(isNamed());
  app.add_option("-o,--output", o.output, "write patterns and rules with their records to FILE, if all are proved")
      ->check(isNamed());
  app.add_flag("--json", o.json, "an array of objects instead of lines");
}

Expected<void> prove(const ProveOptions& o) {
  if (auto ok = distinctFiles({o.output}, o.files); !ok) return ok;
  if (!o.output.empty()) {
    if (auto ok = checkWritable(o.output); !ok) return ok;
  }
  auto input = readAll(o.files);
  if (!input) return tl::unexpected(input.error());
  if (!o.output.empty()) {
    if (auto rules = asRules(input->candidates); !rules) return tl::unexpected(rules.error());
  }
  std::vector<Judgement> judgements = std::move(input->outOfVocabulary);
  auto show = [&](const Judgement& j) { return o.json ? Expected<void>() : print(textOf(j)); };
  for (const Judgement& j : judgements) {
    if (auto ok = show(j); !ok) return ok;
  }
  Progress progress("proving", input->candidates.size());
  for (const Candidate& c : input->candidates) {
    progress.step(c.rule.name);
    judgements.push_back(judge(c));
    progress.clear();
    if (auto ok = show(judgements.back()); !ok) return ok;
  }
  if (o.json) {
    Json array = Json::array();
    for (const Judgement& j : judgements)
      array.push_back(jsonOf(j));
    if (auto ok = print(array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); !ok) return ok;
  }
  auto proved = std::count_if(judgements.begin(), judgements.end(), [](const Judgement& j) { return j.proved(); });
  auto all = static_cast<std::ptrdiff_t>(judgements.size());
  if (proved == all) return o.output.empty() ? Expected<void>() : write(judgements, o.output);
  return fail(ErrorKind::kCheck, fmt::format("{} of {} candidates are not proved", all - proved, all), "",
              o.output.empty() ? "" : "nothing was written");
}

}  // namespace pet::tool
