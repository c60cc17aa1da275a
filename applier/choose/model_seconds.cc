#include "applier/choose/model_seconds.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "applier/choose/applicable.h"
#include "ir/ops/op.h"
#include "ir/work.h"
#include "rules/rewrite/bind.h"

namespace pet {
namespace {

/// By how much an engine's operators take longer than at the rate that it reaches with large products. With it, 135 of
/// 156 exports are estimated within a factor of 1.5 of what ONNX Runtime takes on a Zen 4, and 153 within 2.
constexpr double kOverRate = 1.1;

/// Seconds of patterns by themselves, by shapes and what is beside them: blocks of a model repeat.
class PatternSeconds {
 public:
  PatternSeconds(const RulesByPattern& rules, const Costs& costs) : rules_(rules), costs_(costs) {}

  std::optional<double> at(const Site& site, const Bindings& shapes) {
    auto [known, isNew] = known_.try_emplace({site.pattern, shapes, site.beside.place()});
    if (!isNew) return known->second;
    for (const Rule* rule : rules_.at(site.pattern)) {
      auto cost = costs_.of(*rule, site, shapes);
      if (cost && (cost->measured || costs_.rates.gemm <= 0))
        return known->second = cost->pattern - besideSeconds(*cost, site, shapes, costs_);
    }
    return std::nullopt;
  }

 private:
  const RulesByPattern& rules_;
  const Costs& costs_;
  std::map<std::tuple<const Pattern*, Bindings, std::string_view>, std::optional<double>> known_;
};

/// What a node does, and how many elements it makes.
struct NodeFigures {
  double work = 0, elements = 0;
};

/// Of each node. Throws OverflowError.
std::vector<NodeFigures> figuresOf(const View& view, const Bindings& sizes) {
  const std::vector<bool> constant = knownNodes(view.program);
  std::vector<NodeFigures> figures(constant.size());
  for (size_t i = 0; i < constant.size(); ++i) {
    const Node& n = view.program.nodes()[i];
    if (constant[i] || n.is(ops::kInput)) continue;
    figures[i].work = workOf(view.program, n, sizes).value_or(0);
    for (const Shape& s : n.shapes) {
      auto extents = evaluate(s, sizes);
      figures[i].elements += extents ? static_cast<double>(elementCount(*extents)) : 0;
    }
  }
  return figures;
}

/// Larger ones first.
std::vector<const Site*> byNodes(const std::vector<Site>& sites) {
  std::vector<const Site*> order;
  for (const Site& s : sites)
    order.push_back(&s);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->nodes.size() > b->nodes.size(); });
  return order;
}

/// Throws OverflowError.
std::optional<double> estimate(const MatchIndex& index,
                               const std::vector<Site>& sites,
                               const std::vector<Rewrite>& chosen,
                               const RulesByPattern& rules,
                               const Costs& costs) {
  const Bindings& sizes = index.sizes().typical();
  const std::vector<NodeFigures> figures = figuresOf(index.view(), sizes);
  std::vector<bool> covered(figures.size());
  PatternSeconds seconds(rules, costs);
  double known = 0, knownWork = 0, rest = 0, restWork = 0;
  auto cover = [&](const Site& site, double own) {
    known += own;
    for (int n : site.nodes) {
      covered[static_cast<size_t>(n)] = true;
      knownWork += figures[static_cast<size_t>(n)].work;
    }
  };
  for (const Rewrite& r : chosen) {
    if (!r.cost) continue;
    const Bindings shapes = rewrite::numbersAt(r.site.symbols, sizes);
    cover(r.site, r.cost->pattern - besideSeconds(*r.cost, r.site, shapes, costs));
  }
  for (const Site* s : byNodes(sites)) {
    if (std::any_of(s->nodes.begin(), s->nodes.end(), [&](int n) { return covered[static_cast<size_t>(n)]; })) continue;
    if (auto own = seconds.at(*s, rewrite::numbersAt(s->symbols, sizes))) cover(*s, *own);
  }
  for (size_t i = 0; i < figures.size(); ++i) {
    if (covered[i]) continue;
    const bool computes = figures[i].work > figures[i].elements;
    if (computes) restWork += figures[i].work;
    if (!computes) rest += 4 * figures[i].elements * costs.layoutSecondsPerByte;
  }
  if (costs.rates.gemm > 0) return known + rest + kOverRate * 2 * restWork / costs.rates.gemm;
  if (known <= 0 || knownWork < restWork) return std::nullopt;
  return known + rest + known * restWork / knownWork;
}

}  // namespace

std::optional<double> modelSeconds(const MatchIndex& index,
                                   const std::vector<Site>& sites,
                                   const std::vector<Rewrite>& chosen,
                                   const RulesByPattern& rules,
                                   const Costs& costs) {
  if (!costs.at || index.sizes().samples().empty()) return std::nullopt;
  try {
    return estimate(index, sites, chosen, rules, costs);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace pet
