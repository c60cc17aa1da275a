#include "tools/apply/arguments.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/common/runner.h"
#include "tools/common/tool.h"

namespace pet::tool {
namespace {

/// A number of 64 bits without a sign.
CLI::Validator isSeed() {
  auto wrong = [](const std::string& text) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isNumber = error == std::errc() && end == text.data() + text.size();
    return isNumber ? std::string() : fmt::format("'{}' is no number from 0 to 2^64 - 1", text);
  };
  return CLI::Validator(wrong, "UINT");
}

/// What is rewritten, with which rules.
void declareChoice(CLI::App& app, ApplyArguments& o) {
  app.add_option("MODEL", o.model, "an ONNX model")->required();
  app.add_option("PACK", o.pack, "a pack of rules, from pet-synth; by default the one that comes with the tool")
      ->check(isNamed());
  app.add_option("-o,--output", o.output, "the model to write; by default MODEL with the extension .pet.onnx")
      ->check(isNamed());
  app.add_option("--only", o.only, "only these rules (names or globs, separated by commas)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--skip", o.skip, "all but these rules")->delimiter(',')->allow_extra_args(false);
  app.add_option("--site", o.sites, "only these sites (names of ONNX nodes, or globs)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--all", o.all, "rewrite a maximal set of sites, whatever the gain");
  app.add_option("--min-gain", o.minGain, "the least expected ratio, original / rewritten, for which a rule fires")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  app.add_option("--max-growth", o.maxGrowth,
                 "the factor by which the weights of a site may grow, plus 1 MiB (default 4, which admits Winograd's "
                 "F(4,3) of a 3 x 3 kernel; no bound with --all)")
      ->check(CLI::Range(1.0, 1e6));
}

void declareSizes(CLI::App& app, ApplyArguments& o) {
  app.add_option("--bind", o.sizes.bind, "makes a size that the model leaves open a number, for good: batch=8")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--shape", o.sizes.shapes, "the same for all extents of an input: x=1x3x224x224")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--assume", o.sizes.assume,
                 "what you promise of sizes that stay open: 'seq <= 4096, seq % 16 == 0'; else all sizes from 1 on")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--expect", o.sizes.expect,
                 "sizes at which rules have to gain: batch=1,8 or seq=128..512; by default at small, typical and large "
                 "ones")
      ->allow_extra_args(false);
}

void declareMeasuring(CLI::App& app, ApplyArguments& o) {
  app.add_flag(
      "--measure", o.measure,
      "also time the chosen rewrites on the installed engine, at the sites and in the whole model, and leave out "
      "those that do not pay: never slower. Results are kept in a cache");
  app.add_option("--cache", o.cache, "where --measure keeps results (default ~/.cache/pet/measured.db)")
      ->check(isNamed());
  app.add_option("--budget", o.budget,
                 "seconds in which --measure times rules that were not tuned at sizes like the model's, the most "
                 "promising first; they are kept beside that cache; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--python", o.python, "the Python that has ONNX Runtime, for --measure")->check(isNamed());
  app.add_option("--runner", o.runner,
                 "the program that measures for --measure, instead of the one that comes with the tool")
      ->check(isNamed());
  app.add_option(
         "--threads", o.threads,
         "the engine's threads, for --measure, for the check of the whole model and for the timings that decide")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void declareChecks(CLI::App& app, ApplyArguments& o) {
  app.add_flag("--trust-pack", o.trustPack, "do not check the proof records of the rules that fire");
  app.add_option("--checker", o.checker, "the pet-rules that checks records, instead of the one beside pet-apply")
      ->check(isNamed());
  app.add_flag("--dry-run", o.dryRun, "only report what would fire; nothing is checked or written");
  app.add_option(
         "--device", o.device,
         fmt::format(
             "the device whose timings decide: {}, or one that the timings are of; cuda:h200:tf32 with a precision",
             fmt::join(devices(), ", ")))
      ->capture_default_str();
  app.add_flag("--guess", o.guess,
               "where nothing was timed on the device, a GPU, go by what is published of it: gains are guesses, and "
               "marked so");
  app.add_option("--timings", o.timings, "a file of timings, instead of those that come with the tool")
      ->check(isNamed());
  app.add_option("--more-timings", o.moreTimings,
                 "a file of timings besides those; where both timed a rule alike, what this one says counts")
      ->check(isNamed());
  app.add_option("--machine", o.machine,
                 "the machine to rewrite for: one that the timings are of, an ISA (avx2), or a file from pet-tune "
                 "--calibrate; by default $PET_MACHINE, else this one")
      ->check(isNamed());
  app.add_flag("--freeze-inputs", o.freezeInputs, "initializers that are also graph inputs are constants");
  app.add_option("--json", o.json, "also write the report to this file; - is standard output, in place of the summary")
      ->check(isNamed());
  app.add_option("--report", o.report,
                 "also write the report to this file: FILE.html is a page with both graphs, sites and boxes; else JSON")
      ->check(isNamed());
  app.add_option(
         "--check", o.check,
         "full: every site and the whole model; sites: the whole model only where a site cannot be checked by itself")
      ->check(CLI::IsMember({"full", "sites"}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "the seed of the check's random inputs")->check(isSeed())->capture_default_str();
  app.add_option(
         "--max-rel-error", o.maxRelativeError,
         "the error that the check allows for an output, relative to its largest value, if a rule fired that "
         "rounds differently (Winograd; F(4,3) was measured to 3e-5); rules with a larger error bound do not fire. "
         "float16=E for a type; default 1e-4, float16 0.01, bfloat16 0.05")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--numerics", o.numerics,
                 "bounded: only rules fire whose intermediate values the model's data bound; any: all rules may fire")
      ->check(CLI::IsMember({"bounded", "any"}))
      ->capture_default_str();
  app.add_flag("--keep-invalid", o.keepInvalid, "passes on nodes that ONNX does not allow, as they are");
  app.add_option("--explain", o.explain,
                 "say why rules do or do not fire at this node, or this rule where it fits (names or globs), and what "
                 "would let them; writes nothing")
      ->check(isNamed());
  app.add_flag("--verbose", o.verbose, "list every site, refusal and node, in the report as well");
  app.add_flag("-q,--quiet", o.quiet, "neither progress nor the summary; --json still writes the report");
  app.add_flag("--types", o.types,
               "print the element type and the extents of every value, as JSON, and do nothing else");
}

}  // namespace

void declareArguments(CLI::App& app, ApplyArguments& o) {
  app.footer(
      "Without --all, a rule fires only if it is known to pay on the device at shapes close to the model's.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model, 4 bad pack, 5 check failed or a rule not proved, "
      "6 the engine could not be started or died. With 1 to 6 nothing is written.\n"
      "PET_LOG=FILE logs the steps, with their times; NO_COLOR switches colours off.");
  declareChoice(app, o);
  declareSizes(app, o);
  declareMeasuring(app, o);
  declareChecks(app, o);
}

namespace {

/// NAME=8, NAME=1,8 or NAME=128..512.
bool isExpectation(const std::string& word) {
  const size_t at = word.find('=');
  return at != std::string::npos && at > 0 && at + 1 < word.size() && word.front() != '-' &&
         word.find_first_not_of("0123456789,.", at + 1) == std::string::npos;
}

}  // namespace

std::vector<std::string> apartExpected(int argc, char** argv) {
  std::vector<std::string> words;
  bool follows = false;  // what --expect is about
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool isFirst = !words.empty() && words.back() == "--expect", isMore = follows && isExpectation(word);
    if (isMore) words.emplace_back("--expect");
    words.push_back(word);
    follows = isFirst || isMore || word.starts_with("--expect=");
  }
  return words;
}

}  // namespace pet::tool
