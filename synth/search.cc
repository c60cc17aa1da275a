#include "synth/search.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "synth/forms.h"
#include "synth/graphs.h"
#include "synth/plans.h"

namespace pet {

Expected<Search> Search::create(std::vector<Pattern> patterns, const SearchOptions& options) {
  Search search;
  search.options_ = options;
  search.patterns_ = std::move(patterns);
  std::sort(search.patterns_.begin(), search.patterns_.end(),
            [](const Pattern& a, const Pattern& b) { return a.name < b.name; });
  for (const Pattern& p : search.patterns_) {
    std::string why;
    for (auto make : {planGenerator, graphGenerator}) {
      auto generator = make(p, options);
      if (!generator) {
        why += (why.empty() ? "" : "; ") + generator.error();
        continue;
      }
      search.add(std::move(*generator));
    }
    if (auto forms = formGenerator(p, options)) search.add(std::move(forms));
    if (search.generators_.empty() || search.generators_.back()->pattern().name != p.name)
      return fail(ErrorKind::kUnsupported, why, "pattern " + p.name);
  }
  return search;
}

void Search::add(std::unique_ptr<Generator> generator) {
  for (size_t unit = 0; unit < generator->size(); ++unit)
    units_.push_back({generators_.size(), unit});
  generators_.push_back(std::move(generator));
}

std::string Search::name(size_t unit) const {
  const Generator& g = *generators_[units_[unit].generator];
  return g.pattern().name + "/" + g.name(units_[unit].unit);
}

UnitOutcome Search::run(size_t unit) const {
  const Generator& g = *generators_[units_[unit].generator];
  return {unit, g.pattern().name, g.source(), g.run(units_[unit].unit)};
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
