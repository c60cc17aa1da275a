#include "synth/search/search.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "rules/text.h"
#include "synth/analysis/seeing_taps.h"
#include "synth/propose/axes/axes_generator.h"
#include "synth/propose/axes/unrolled_sum.h"
#include "synth/propose/axes/whole_program.h"
#include "synth/propose/exchanges/exchange_generator.h"
#include "synth/propose/plans/plan_generator.h"
#include "synth/propose/skeletons/skeleton_generator.h"
#include "synth/propose/templates/template_generator.h"

namespace pet {
namespace {

/// Operators, layouts included, of the skeletons and exchanges that are enumerated. Not fewer at a smaller depth: what
/// depth counts are operators that compute, and Pipeline does that.
constexpr int kLeastSize = 4;

}  // namespace

Expected<Search> Search::create(std::vector<Pattern> patterns,
                                const JudgeOptions& options,
                                const ReportShare& progress) {
  Search search;
  search.options_ = options;
  search.patterns_ = std::move(patterns);
  std::sort(search.patterns_.begin(), search.patterns_.end(),
            [](const Pattern& a, const Pattern& b) { return a.name < b.name; });
  double done = 0;
  for (const Pattern& p : search.patterns_) {
    if (progress) progress(done++ / static_cast<double>(search.patterns_.size()));
    if (auto ok = search.addGenerators(p); !ok) return tl::unexpected(ok.error());
  }
  return search;
}

Expected<void> Search::addGenerators(const Pattern& pattern) {
  std::string why;
  std::vector<std::unique_ptr<Generator>> made;
  const int size = std::max(kLeastSize, options_.depth);
  // Where taps of each axis only see padding, what else the Conv may become the Conv without them does: a template.
  const bool isBlind = hasBlindTaps(pattern);
  std::vector<MadeGenerator> generators;
  if (!isBlind) {
    generators.push_back(planGenerator(pattern));
    generators.push_back(axesGenerator(pattern));
    generators.push_back(wholeProgramGenerator(pattern));
    generators.push_back(unrolledSumGenerator(pattern));
    generators.push_back(skeletonGenerator(pattern, size));
  }
  generators.push_back(templateGenerator(pattern));
  for (MadeGenerator& generator : generators) {
    if (generator) {
      made.push_back(std::move(*generator));
    } else if (!generator.error().empty()) {
      why += (why.empty() ? "" : "; ") + generator.error();
    }
  }
  if (made.empty()) return fail(ErrorKind::kUnsupported, why, "pattern " + pattern.name);
  if (!isBlind) {
    if (auto exchanges = exchangeGenerator(pattern, size)) made.push_back(std::move(*exchanges));
  }
  std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a->source() < b->source(); });
  for (auto& generator : made) {
    for (size_t unit = 0; unit < generator->size(); ++unit)
      units_.push_back({generators_.size(), unit});
    generators_.push_back(std::move(generator));
  }
  return {};
}

std::string Search::name(size_t unit) const {
  const Generator& g = *generators_[units_[unit].generator];
  return g.pattern().name + "/" + g.name(units_[unit].unit);
}

namespace {

/// `name` is without the pattern's.
CandidateOutcome outcomeOf(std::string name, Judged judged) {
  CandidateOutcome outcome{std::move(name), std::string(), judged.seconds};
  if (auto* drop = std::get_if<Drop>(&judged.verdict)) {
    outcome.verdict = std::move(*drop);
  } else {
    outcome.verdict = print(std::get<Rule>(judged.verdict));
  }
  return outcome;
}

}  // namespace

UnitOutcome Search::run(size_t unit) const {
  const Generator& g = *generators_[units_[unit].generator];
  const Pipeline pipeline(g.pattern(), options_);
  UnitOutcome outcome{unit, g.pattern().name, g.source(), {}};
  g.propose(units_[unit].unit, [&](Candidate c) {
    Judged judged = pipeline.judge(c);
    const bool kept = judged.isRule();
    outcome.candidates.push_back(outcomeOf(std::move(c.name), std::move(judged)));
    return kept;
  });
  return outcome;
}

std::string Search::whyEmpty(std::string_view pattern) const {
  for (const auto& g : generators_) {
    if (g->pattern().name == pattern && g->size() == 0) return g->whyEmpty();
  }
  return "";
}

Expected<void> runHere(const Search& search,
                       const std::vector<size_t>& units,
                       const RunOptions& options,
                       const Sink& sink) {
  size_t cores = std::max(1u, std::thread::hardware_concurrency());
  size_t threads = options.threads > 0 ? static_cast<size_t>(options.threads) : cores;
  // An arena of one thread starts no other; oneTBB has more threads than cores only if it is told so.
  tbb::task_arena arena(static_cast<int>(threads));
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, std::max(threads, cores));
  std::atomic<bool> failed = false;
  Expected<void> result;
  auto next = units.begin();
  auto source = [&](tbb::flow_control& control) -> size_t {
    if (next == units.end() || failed || (options.stop && options.stop())) {
      control.stop();
      return 0;
    }
    return *next++;
  };
  auto work = [&](size_t unit) { return std::make_shared<UnitOutcome>(search.run(unit)); };
  auto take = [&](const std::shared_ptr<UnitOutcome>& outcome) {
    if (failed) return;
    result = sink(std::move(*outcome));
    if (!result) failed = true;
  };
  // As many in flight as keep every thread busy while the sink writes.
  arena.execute([&] {
    tbb::parallel_pipeline(
        2 * threads,
        tbb::make_filter<void, size_t>(tbb::filter_mode::serial_in_order, source) &
            tbb::make_filter<size_t, std::shared_ptr<UnitOutcome>>(tbb::filter_mode::parallel, work) &
            tbb::make_filter<std::shared_ptr<UnitOutcome>, void>(tbb::filter_mode::serial_out_of_order, take));
  });
  return result;
}

}  // namespace pet
