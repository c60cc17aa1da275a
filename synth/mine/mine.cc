#include "synth/mine/mine.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/ops/op.h"
#include "ir/text.h"
#include "rules/text.h"
#include "synth/mine/known_patterns.h"

namespace pet::mine {
namespace {

/// So many operators of one pattern have at most so many orders that each is looked at.
constexpr size_t kMostOrders = 120;

/// One subgraph, with how often it stands in the programs, numbers and all.
struct Distinct {
  Program program;
  size_t count = 0;
};

class Miner {
 public:
  explicit Miner(const std::vector<Pattern>& known) : known_(known) {}

  void add(const Program& program, const SubgraphLimits& limits) {
    Source source(program);
    Subgraphs found = subgraphs(source, limits);
    result_.complete = result_.complete && found.complete;
    result_.subgraphs += found.nodes.size();
    result_.wide += found.wide;
    for (const auto& nodes : found.nodes) {
      Program part = cut(source, nodes);
      auto& distinct = distinct_[print(part)];
      if (distinct.count++ == 0) distinct.program = std::move(part);
    }
  }

  Mine run(const ReportShare& progress) && {
    result_.distinct = distinct_.size();
    double entered = 0;
    for (const auto& [text, distinct] : distinct_) {
      if (progress) progress(entered++ / static_cast<double>(distinct_.size()));
      enter(distinct);
    }
    for (auto& [name, mined] : patterns_) {
      if (auto known = known_.nameOf(mined.pattern)) mined.known = *known;
      result_.patterns.push_back(std::move(mined));
    }
    auto rank = [](const Mined& m) {
      return std::tuple(-static_cast<int64_t>(m.count), m.pattern.program.nodes().size(), m.pattern.name);
    };
    std::sort(result_.patterns.begin(), result_.patterns.end(),
              [&](const Mined& a, const Mined& b) { return rank(a) < rank(b); });
    result_.failed.assign(failed_.begin(), failed_.end());
    return std::move(result_);
  }

 private:
  void enter(const Distinct& distinct) {
    auto pointwise = canonical(distinct.program, {.pointwise = true}),
         any = canonical(distinct.program, {.pointwise = false});
    std::set<std::string> names;
    for (auto* general : {&pointwise, &any}) {
      if (!*general) {
        failed_.insert(general->error().message());
      } else if (names.insert((*general)->pattern.name).second) {
        Mined& mined = patterns_[(*general)->pattern.name];
        mined.count += distinct.count;
        mined.pattern = std::move((*general)->pattern);
        mined.pinned = std::move((*general)->pinned);
      }
    }
  }

  /// Of the patterns that the orders of the operators give, the one whose text comes first: subgraphs that are equal up
  /// to names and order give the same.
  static Expected<General> canonical(const Program& program, const Choice& choice) {
    std::vector<int> nodes;
    for (size_t n = 0; n < program.nodes().size(); ++n) {
      if (!program.nodes()[n].is(ops::kInput)) nodes.push_back(static_cast<int>(n));
    }
    Source source(program);
    auto all = orders(program, nodes);
    if (all.size() > kMostOrders) all.resize(kMostOrders);
    Expected<General> best = fail(ErrorKind::kInternal, "no operators");
    std::string bestText;
    for (const auto& order : all) {
      auto general = generalise(cut(source, order), choice);
      if (!general) {
        if (!best) best = std::move(general);
        continue;
      }
      std::string text = textOf(general->pattern);
      if (best && bestText <= text) continue;
      best = std::move(general);
      bestText = std::move(text);
    }
    return best;
  }

  static std::string textOf(Pattern pattern) {
    pattern.name.clear();
    return print(pattern);
  }

  KnownPatterns known_;
  std::map<std::string, Distinct> distinct_;
  std::map<std::string, Mined> patterns_;
  std::set<std::string> failed_;
  Mine result_;
};

}  // namespace

Mine mine(const std::vector<Program>& programs,
          const std::vector<Pattern>& known,
          const SubgraphLimits& limits,
          const ReportShare& progress) {
  Miner miner(known);
  for (const Program& p : programs)
    miner.add(p, limits);
  return std::move(miner).run(progress);
}

}  // namespace pet::mine
