#include "synth/free/free_search.h"

#include <algorithm>

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "synth/free/selection.h"
#include "synth/judge/stopwatch.h"

namespace pet::freemode {
namespace {

/// Graphs of so many operators keep their values; those of larger ones are a thousand bytes for each of ten million.
constexpr int kMostValued = 3;

/// Sets of operators closed under operands: with one, two, three sinks. Of three operators: a graph of three; a graph
/// of two and an operator; two graphs of two that share their first operator; three operators.
uint64_t severalSinks(const std::vector<LevelCount>& levels) {
  const uint64_t one = levels[0].graphs;
  uint64_t all = one;
  if (levels.size() > 1) all += levels[1].graphs + one * (one - 1) / 2;
  if (levels.size() > 2) {
    all += levels[2].graphs + levels[1].graphs * (one - 1) + levels[1].sharing + one * (one - 1) / 2 * (one - 2) / 3;
  }
  return all;
}

/// One stage after the other; each adds to the result.
class Search {
 public:
  Search(const Vocabulary& vocabulary, const SearchOptions& options)
      : options_(options), table_(leafClasses(vocabulary, options.seed)), inner_(leafCandidates(table_)) {}

  Expected<SearchResult> run() {
    enumerateInner();
    if (options_.resume) {
      passes_ = *options_.resume;
    } else {
      passes_.count = passCount();
    }
    for (; passes_.done < passes_.count;) {
      runPass({options_.slice.index * passes_.count + passes_.done, options_.slice.count * passes_.count});
      ++passes_.done;
      if (!options_.passDone) continue;
      if (auto ok = options_.passDone(passes_); !ok) return tl::unexpected(ok.error());
    }
    result_.passes = passes_.count;
    result_.levels.push_back(passes_.level);
    result_.equalities.raw = passes_.raw;
    result_.severalSinks = severalSinks(result_.levels);
    std::vector<Equality> distinct = mostGeneral();
    sortForSelection(distinct, table_.steps);
    selectAndProve(distinct, table_.steps, options_, result_);
    return std::move(result_);
  }

 private:
  /// Of a stage that begins now.
  ReportShare stage(std::string what) const {
    if (!options_.progress) return nullptr;
    return [this, what = std::move(what)](double share) { options_.progress(what, share); };
  }

  void enumerateInner() {
    Stopwatch watch(result_.seconds.enumerate);
    for (int size = 1; size < options_.depth; ++size) {
      result_.levels.push_back(extend(table_, inner_, size <= kMostValued ? Values::kKept : Values::kDropped,
                                      stage(fmt::format("graphs of {} operators", size))));
    }
    result_.innerClasses = table_.classes.size();
    result_.innerBytes = table_.classes.size() * sizeof(ValueClass) + table_.members.size() * sizeof(Member) +
                         table_.values.size() * sizeof(Element);
  }

  /// As few as keep a pass within the memory that it may have.
  uint32_t passCount() {
    if (options_.memory == 0) return 1;
    Stopwatch watch(result_.seconds.enumerate);
    uint64_t bytes = 2 * sizeof(Candidate) * countLastLevel(table_) / options_.slice.count;
    return static_cast<uint32_t>(std::min<uint64_t>(1 + bytes / options_.memory, 1 << 12));
  }

  void runPass(const Part& part) {
    std::vector<Candidate> candidates;
    {
      Stopwatch watch(result_.seconds.enumerate);
      LevelCount count;
      candidates = lastLevel(
          table_, part, count,
          stage(fmt::format("graphs of {} operators, part {} of {}", options_.depth, part.index + 1, part.count)));
      LevelCount& level = passes_.level;
      level.evaluated += count.evaluated;
      level.graphs += count.graphs;
      std::copy_if(inner_.begin(), inner_.end(), std::back_inserter(candidates),
                   [&](const Candidate& c) { return part.holds(c.fingerprint); });
      tbb::parallel_sort(candidates.begin(), candidates.end());
      for (size_t i = 0; i < candidates.size(); ++i) {
        bool isNew = i == 0 || candidates[i - 1].fingerprint != candidates[i].fingerprint;
        level.classes += isNew && candidates[i].size == static_cast<uint32_t>(options_.depth);
      }
    }
    compare(candidates);
  }

  /// Every candidate with the smallest one of the same fingerprint.
  void compare(const std::vector<Candidate>& sorted) {
    Stopwatch watch(result_.seconds.compare);
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 1, first = 0; i < sorted.size(); ++i) {
      if (sorted[i].fingerprint != sorted[first].fingerprint) {
        first = i;
      } else {
        pairs.emplace_back(first, i);
      }
    }
    passes_.raw += pairs.size();
    const ReportShare progress = stage("equalities");
    SharedCount done(pairs.size(), progress);
    tbb::enumerable_thread_specific<std::pair<Scratch, Passes>> workers;
    tbb::parallel_for(tbb::blocked_range<size_t>(0, pairs.size(), 256), [&](const auto& range) {
      auto& [scratch, found] = workers.local();
      for (size_t i = range.begin(); i < range.end(); ++i) {
        Found f{sorted[pairs[i].first], sorted[pairs[i].second]};
        found.keep(canonicalKey(equalityOf(table_, f.left, f.right, scratch), table_.steps), f);
      }
      done.add(range.size());
    });
    for (const auto& [scratch, found] : workers) {
      for (const auto& [key, f] : found.found)
        passes_.keep(key, f);
    }
  }

  std::vector<Equality> mostGeneral() {
    Stopwatch watch(result_.seconds.compare);
    std::vector<Equality> all;
    Scratch scratch;
    for (const auto& [key, f] : passes_.found)
      all.push_back(equalityOf(table_, f.left, f.right, scratch));
    result_.equalities.distinct = all.size();
    return all;
  }

  const SearchOptions& options_;
  ClassTable table_;
  std::vector<Candidate> inner_;
  Passes passes_;
  SearchResult result_;
};

}  // namespace

Expected<SearchResult> search(const Vocabulary& vocabulary, const SearchOptions& options) {
  std::optional<tbb::global_control> threads;
  if (options.threads > 0) {
    threads.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(options.threads));
  }
  return Search(vocabulary, options).run();
}

}  // namespace pet::freemode
