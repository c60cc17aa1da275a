// pet-rules: what is in a pack, and is it right?

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "rules/values.h"
#include "synth/numerics/numerics.h"
#include "tools/common/last_words.h"
#include "tools/common/parallel.h"
#include "tools/common/table.h"
#include "tools/common/tool.h"
#include "tools/rules/chosen.h"
#include "tools/rules/covers.h"
#include "tools/rules/gained.h"
#include "tools/rules/merge.h"
#include "tools/rules/minimal.h"
#include "tools/rules/model.h"
#include "tools/rules/pays.h"
#include "tools/rules/smt.h"
#include "tools/rules/taso.h"
#include "tools/rules/verify.h"

namespace {

using namespace pet;
using tool::isNamed;
using Json = nlohmann::ordered_json;

/// The arguments of every subcommand.
struct Options {
  std::string pack, output, taso;
  std::vector<std::string> rules, files, gained;
  bool json = false, smt2 = false;
  rules::CoverOptions cover;
  rules::MinimalOptions minimal;
  bool quiet = false;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

/// A subcommand: one row of the table below.
struct Subcommand {
  const char *name, *help;
  void (*arguments)(CLI::App&, Options&);
  Expected<void> (*run)(const Options&);
};

tool::Workers workersOf(const Options& o) {
  return {o.threads, o.quiet};
}

void packArgument(CLI::App& app, Options& o) {
  app.add_option("PACK", o.pack, "a pack, e.g. rules.db")->required()->check(isNamed());
}

// --- ls ---

Expected<void> list(const Options& o) {
  auto set = readPack(o.pack);
  if (!set) return tl::unexpected(set.error());
  auto notes = readPackNotes(o.pack);
  if (!notes) return tl::unexpected(notes.error());
  Json array = Json::array();
  std::vector<std::vector<std::string>> rows{{"NAME", "PATTERN", "FAMILY", "DEPTH", "BOXES", "HASH", "NUMERICS"}};
  for (const Rule& r : set->rules) {
    std::string hash = rules::hashOf(*set, r);
    array.push_back({{"name", r.name},
                     {"pattern", r.pattern},
                     {"family", r.family},
                     {"depth", r.depth},
                     {"boxes", r.boxes.size()},
                     {"verdict", notes->evidence[r.name]["verdict"]},
                     {"numerics", r.numerics.str()},
                     {"values", valuesAsked(*set->findPattern(r.pattern))},
                     {"source", notes->evidence[r.name][kSource]},
                     {"hash", hash}});
    rows.push_back({r.name, r.pattern, r.family, std::to_string(r.depth), std::to_string(r.boxes.size()),
                    hash.substr(0, 12), r.numerics.str()});
  }
  return tool::print(o.json ? array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : tool::table(rows));
}

// --- show, export, import ---

Expected<void> show(const Options& o) {
  auto set = readPack(o.pack);
  if (!set) return tl::unexpected(set.error());
  auto notes = readPackNotes(o.pack);
  if (!notes) return tl::unexpected(notes.error());
  auto rule = rules::findRule(*set, o.rules.front(), o.pack);
  if (!rule) return tl::unexpected(rule.error());
  const Pattern& pattern = *set->findPattern((*rule)->pattern);
  std::string text = fmt::format("# {}\n", ruleHash(pattern, **rule));
  for (const auto& [key, value] : notes->evidence[(*rule)->name])
    text += fmt::format("# {}: {}\n", key, value);
  for (const std::string& asked : valuesAsked(pattern))
    text += fmt::format("# for models whose constants are: {}\n", asked);
  auto pays = rules::wherePays(*set, **rule);
  if (!pays) return tl::unexpected(pays.error());
  return tool::print(text + *pays + "\n" + print(pattern) + "\n" + print(**rule));
}

Expected<void> exportText(const Options& o) {
  std::vector<std::string> inputs = o.gained;
  inputs.push_back(o.pack);
  if (auto ok = tool::distinctFiles({o.output}, inputs); !ok) return ok;
  if (!o.smt2 && !o.rules.empty()) return fail(ErrorKind::kUsage, "--only is for --smt2", "", "show prints one rule");
  auto set = readPack(o.pack);
  if (set && !o.gained.empty()) set = rules::gainedRules(*set, o.gained);
  if (!set) return tl::unexpected(set.error());
  if (o.smt2) {
    auto rules = rules::chosenRules(*set, o.rules, o.pack);
    return rules ? rules::exportSmt(*set, *rules, o.output) : tl::unexpected(rules.error());
  }
  std::string text = print(*set);
  return o.output.empty() ? tool::print(text) : writeFile(o.output, text);
}

/// Adds the rules of one text file, which may use the patterns of earlier ones.
Expected<void> addFile(const std::string& file, RuleSet& set) {
  auto text = readFile(file, ErrorKind::kText);
  if (!text) return tl::unexpected(text.error());
  auto parsed = parseRules(*text, file, set);
  if (!parsed) return tl::unexpected(tool::badText(parsed.error()));
  return addRules(set, std::move(*parsed), file);
}

// --- import ---

/// The class of its rounding, for a rule that claims nothing. What cannot be asked stays so: the check says why.
void deriveNumerics(const RuleSet& set, Rule& rule) {
  if (rule.numerics != kNothingClaimed) return;
  try {
    rule.numerics = numericsOf(poly::Context(rule.shapes), *set.findPattern(rule.pattern), rule);
  } catch (const OverflowError&) {
  }
}

Expected<void> importText(const Options& o) {
  if (auto ok = tool::distinctFiles({o.output}, o.files); !ok) return ok;
  if (auto ok = checkWritable(o.output); !ok) return ok;
  RuleSet set;
  for (const std::string& file : o.files) {
    if (auto ok = addFile(file, set); !ok) return ok;
  }
  for (Rule& r : set.rules)
    deriveNumerics(set, r);
  std::vector<const Rule*> rules;
  for (const Rule& r : set.rules)
    rules.push_back(&r);
  auto reports = rules::checkAll(set, rules, workersOf(o));
  for (size_t i = 0; i < rules.size(); ++i) {
    if (reports[i].proved()) continue;
    return fail(ErrorKind::kCheck, fmt::format("{}: {}", rules::verdictOf(reports[i]), reports[i].reason()),
                "rule " + rules[i]->name, "only proved rules enter a pack; nothing was written");
  }
  PackNotes notes;
  for (const Rule& r : set.rules)
    notes.evidence[r.name]["verdict"] = kChecked;
  return writePack(set, o.output, notes);
}

/// TASO's substitutions: a line for each, and the text of those that are proved.
Expected<void> importTaso(const Options& o) {
  if (auto ok = tool::distinctFiles({o.output}, {o.taso}); !ok) return ok;
  if (!o.output.empty()) {
    if (auto ok = checkWritable(o.output); !ok) return ok;
  }
  auto bytes = readFile(o.taso, ErrorKind::kText);
  if (!bytes) return tl::unexpected(bytes.error());
  auto import = rules::importTaso(*bytes, o.taso, workersOf(o));
  if (!import) return tl::unexpected(import.error());
  if (!o.output.empty()) {
    if (auto ok = writeFile(o.output, import->rules); !ok) return ok;
  }
  return tool::print(import->report);
}

Expected<void> importRules(const Options& o) {
  if (o.taso.empty() == o.files.empty()) return fail(ErrorKind::kUsage, "import takes either FILE... or --taso FILE");
  if (!o.taso.empty()) return importTaso(o);
  if (o.output.empty()) return fail(ErrorKind::kUsage, "-o is needed: the pack to write");
  return importText(o);
}

Expected<void> mergeFiles(const Options& o) {
  return rules::merge(o.files, o.output);
}

Expected<void> diffFiles(const Options& o) {
  return rules::diff(o.files);
}

Expected<void> modelOfRule(const Options& o) {
  if (auto ok = tool::distinctFiles({o.output}, {o.pack}); !ok) return ok;
  auto set = readPack(o.pack);
  if (!set) return tl::unexpected(set.error());
  auto rule = rules::findRule(*set, o.rules.front(), o.pack);
  if (!rule) return tl::unexpected(rule.error());
  return rules::writeModelOf(*set->findPattern((*rule)->pattern), **rule, o.output);
}

Expected<void> verifyRules(const Options& o) {
  return rules::verify({o.pack, o.rules, o.json, workersOf(o)});
}

Expected<void> evaluateRules(const Options& o) {
  return rules::evaluateAll({o.pack, o.rules, o.json, workersOf(o)});
}

Expected<void> coverRules(const Options& o) {
  return rules::covers(o.pack, o.taso, o.cover, workersOf(o));
}

Expected<void> reduceRules(const Options& o) {
  return rules::minimal(o.pack, o.output, o.minimal);
}

// --- the tool table ---

void threadsArgument(CLI::App& app, Options& o) {
  app.add_flag("-q,--quiet", o.quiet, "no progress");
  app.add_option("-j,--threads", o.threads, "threads; the answer does not depend on it")->check(CLI::Range(1, 1024));
}

const Subcommand kSubcommands[] = {
    {"ls", "list the rules of a pack",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_flag("--json", o.json, "an array of objects instead of a table");
     },
     list},
    {"show", "print one rule with its pattern, its proof and where it pays, in the rule language",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("RULE", o.rules, "a rule's name, or the beginning of its hash")->required()->expected(1);
     },
     show},
    {"model", "write an ONNX model on which a rule fires, at a small shape, with random weights",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("RULE", o.rules, "a rule's name, or the beginning of its hash")->required()->expected(1);
       app.add_option("-o,--output", o.output, "the model to write")->required()->check(isNamed());
     },
     modelOfRule},
    {"export", "print a whole pack in the rule language, or the proof obligations of its rules in SMT-LIB 2",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("-o,--output", o.output, "the text file to write, or the folder; without it, standard output")
           ->check(isNamed());
       app.add_flag("--smt2", o.smt2, "the obligations of every rule, for any solver, one file for each rule");
       app.add_option("--only", o.rules, "with --smt2: a rule's name, or the beginning of its hash");
       app.add_option("--gained", o.gained, "only the rules that gained somewhere by this file of timings")
           ->allow_extra_args(false)
           ->check(isNamed());
     },
     exportText},
    {"import",
     "make a pack from text files of rules, each proved by its record; or rules as text from TASO's substitutions",
     [](CLI::App& app, Options& o) {
       app.add_option("FILE", o.files, "text files; a later one may use the patterns of an earlier one")
           ->check(isNamed());
       app.add_option("--taso", o.taso, "instead of FILEs: TASO's substitutions, each of which is proved or refuted")
           ->check(isNamed());
       app.add_option("-o,--output", o.output, "the pack to write; with --taso, the text of the proved rules")
           ->check(isNamed());
       threadsArgument(app, o);
     },
     importRules},
    {"merge", "make one pack of several packs, or of all parts that pet-synth --shard wrote",
     [](CLI::App& app, Options& o) {
       app.add_option("FILE", o.files, "packs; or the parts 1/N to N/N of one search")->required()->check(isNamed());
       app.add_option("-o,--output", o.output, "the pack to write")->required()->check(isNamed());
     },
     mergeFiles},
    {"diff", "list the differences between two packs, by name; exit code 5 if there are any",
     [](CLI::App& app, Options& o) {
       app.add_option("PACK", o.files, "two packs")->required()->expected(2)->check(isNamed());
     },
     diffFiles},
    {"verify", "check the proof record of every rule, or of some, with z3; exit code 5 unless all are proved",
     [](CLI::App& app, Options& o) {
       app.add_option("PACK", o.pack, "a pack; or - for rules as text on standard input")->required()->check(isNamed());
       app.add_option("RULE", o.rules, "rules' names, or beginnings of their hashes; without any, all");
       app.add_flag("--json", o.json, "an array of objects instead of lines");
       threadsArgument(app, o);
     },
     verifyRules},
    {"evaluate", "evaluate every rule, or some, at small shapes of their classes; exit code 5 unless all are equal",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("RULE", o.rules, "rules' names, or beginnings of their hashes; without any, all");
       app.add_flag("--json", o.json, "an array of objects instead of lines");
       threadsArgument(app, o);
     },
     evaluateRules},
    {"covers", "derive each of TASO's substitutions from the rules of a pack; exit code 5 unless all true ones follow",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("--taso", o.taso, "TASO's substitutions")->required()->check(isNamed());
       app.add_option("--steps", o.cover.limits.steps, "the largest number of rewrites in a chain")
           ->check(CLI::Range(0, 20));
       app.add_option("--programs", o.cover.limits.programs,
                      "the largest number of programs to look at from either side of a rule")
           ->check(CLI::Range(1, 1000000));
       app.add_flag("-v,--verbose", o.cover.verbose, "print the program after each step");
       app.add_flag("--json", o.cover.json, "an array of objects instead of lines");
       threadsArgument(app, o);
     },
     coverRules},
    {"minimal", "drop the rules of a pack that follow from others, with the reasons",
     [](CLI::App& app, Options& o) {
       packArgument(app, o);
       app.add_option("-o,--output", o.output, "the pack to write; without it, nothing is written")->check(isNamed());
       app.add_option("--steps", o.minimal.limits.steps,
                      "the largest number of rewrites that may replace a rule; 1 if not given")
           ->check(CLI::Range(0, 20));
       app.add_flag("!--one-way", o.minimal.limits.backwards, "use rules from pattern to replacement only");
       app.add_flag("--json", o.minimal.json, "an object instead of lines");
       app.add_flag("-q,--quiet", o.minimal.quiet, "no progress");
     },
     reduceRules},
};

int runTool(int argc, char** argv) {
  CLI::App app("Lists, checks, compares and merges packs of rewrite rules, and converts them to text and back.",
               "pet-rules");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok, 1 internal error, 2 usage, 4 bad pack or rule text, 5 check failed.");
  Options options;
  std::vector<std::pair<CLI::App*, const Subcommand*>> subcommands;
  for (const Subcommand& s : kSubcommands) {
    CLI::App* sub = app.add_subcommand(s.name, s.help);
    s.arguments(*sub, options);
    subcommands.emplace_back(sub, &s);
  }
  return tool::run(app, argc, argv, [&]() -> Expected<void> {
    for (const auto& [sub, s] : subcommands) {
      if (sub->parsed()) return s->run(options);
    }
    return fail(ErrorKind::kUsage, "no subcommand");
  });
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard("pet-rules", [&] {
    const tool::LastWords words("pet-rules");
    return runTool(argc, argv);
  });
}
