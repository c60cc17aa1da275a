#include "applier/match/find_sites.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "applier/match/closed_values.h"
#include "applier/match/solve_extents.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// So many candidates for an output are looked at, against values that everybody reads; those next to the anchor.
constexpr size_t kMostSiblings = 32;

/// What the pattern's nodes and inputs stand for, so far.
struct Assignment {
  std::map<int, int> nodes;
  std::map<Value, Value> inputs;
  std::map<Value, Value> closed;  ///< what the pattern's symbols alone determine
};

/// The way from a value that is matched already to an output: each step reads the one before it.
struct Trail {
  Value shared;
  std::vector<Value> steps;  ///< of the pattern; the last one is the output
};

class Matcher {
 public:
  Matcher(const MatchIndex& index, const Pattern& pattern)
      : index_(index), pattern_(pattern), closed_(pattern.program), trails_(trails()) {}

  /// Every way to map the pattern with its first output at `anchor`.
  std::vector<Assignment> at(int anchor) const;
  /// The site, or why it is none.
  Expected<Site> site(const Assignment& a, int anchor) const;

 private:
  const Program& program() const { return pattern_.program; }
  const Program& view() const { return index_.view().program; }
  std::optional<Trail> trailTo(Value v, const std::set<int>& reached) const;
  void reach(int node, std::set<int>& reached) const;
  /// To the outputs that are not inside of earlier ones, in the order in which they are found; an empty one at the end
  /// if some share nothing with the others.
  std::vector<Trail> trails() const;
  std::vector<Value> follow(const Trail& trail, const Assignment& so) const;
  bool hasAllOutputs(const Assignment& a) const;
  void unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const;
  bool attributesFit(const Node& p, const Node& v) const;
  Expected<void> checkConstants(const Assignment& a) const;
  Expected<void> checkInterior(const Assignment& a) const;
  void enterAttributes(const Assignment& a, std::vector<Equation>& equations) const;
  Expected<void> enterShapes(const Assignment& a, std::vector<Equation>& equations) const;
  Expected<void> checkClass(const Bindings& bound) const;
  Expected<Bindings> symbols(const Assignment& a) const;

  const MatchIndex& index_;
  const Pattern& pattern_;
  ClosedValues closed_;
  std::vector<Trail> trails_;
};

/// The same regrouping of axes, whatever their names and extents.
bool sameGroups(const LayoutSpec& a, const LayoutSpec& b) {
  return a.left == b.left && a.right == b.right && a.axes.size() == b.axes.size();
}

/// Attributes without symbols are equal, lists of one length, layouts of the same groups.
bool Matcher::attributesFit(const Node& p, const Node& v) const {
  for (const auto& [name, left] : p.attributes) {
    const Attribute& right = v.attributes.find(name)->second;
    if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
      if (list->size() != std::get<std::vector<Expr>>(right).size()) return false;
    } else if (const auto* layout = std::get_if<LayoutSpec>(&left)) {
      if (!sameGroups(*layout, std::get<LayoutSpec>(right))) return false;
    } else if (!std::holds_alternative<Expr>(left) && !(left == right)) {
      return false;
    }
  }
  return true;
}

bool commutes(const OpRow& op) {
  return op.is(ops::kAdd) || op.is(ops::kMul);
}

void Matcher::unify(Value p, Value v, const Assignment& so, std::vector<Assignment>& into) const {
  const Node &pn = program().node(p), &vn = view().node(v);
  if (pn.is(ops::kInput)) {
    Assignment next = so;
    if (next.inputs.emplace(p, v).first->second == v) into.push_back(std::move(next));
    return;
  }
  if (closed_.contains(p)) {
    Assignment next = so;
    if (index_.isConstant(v) && next.closed.emplace(p, v).first->second == v) into.push_back(std::move(next));
    return;
  }
  if (auto it = so.nodes.find(p.node); it != so.nodes.end()) {
    if (it->second == v.node && p.output == v.output) into.push_back(so);
    return;
  }
  if (pn.op != vn.op || p.output != v.output || pn.operands.size() != vn.operands.size() || !attributesFit(pn, vn))
    return;
  Assignment start = so;
  start.nodes[p.node] = v.node;
  std::vector<std::vector<Value>> orders{vn.operands};
  if (commutes(*pn.op) && vn.operands[0] != vn.operands[1]) orders.push_back({vn.operands[1], vn.operands[0]});
  for (const auto& operands : orders) {
    std::vector<Assignment> ways{start};
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<Assignment> next;
      for (const Assignment& a : ways)
        unify(pn.operands[i], operands[i], a, next);
      ways = std::move(next);
    }
    into.insert(into.end(), ways.begin(), ways.end());
  }
}

std::optional<Trail> Matcher::trailTo(Value v, const std::set<int>& reached) const {
  if (reached.contains(v.node)) return Trail{v, {}};
  for (Value operand : program().node(v).operands) {
    if (auto trail = trailTo(operand, reached)) {
      trail->steps.push_back(v);
      return trail;
    }
  }
  return std::nullopt;
}

void Matcher::reach(int node, std::set<int>& reached) const {
  if (!reached.insert(node).second) return;
  for (Value v : program().nodes()[static_cast<size_t>(node)].operands)
    reach(v.node, reached);
}

std::vector<Trail> Matcher::trails() const {
  const auto& outputs = program().outputs();
  std::set<int> reached;
  reach(outputs[0].node, reached);
  std::vector<Trail> result;
  std::vector<Value> open(outputs.begin() + 1, outputs.end());
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < open.size() && !progress; ++i) {
      auto trail = trailTo(open[i], reached);
      if (!trail) continue;
      if (!trail->steps.empty()) result.push_back(std::move(*trail));
      reach(open[i].node, reached);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
    }
  }
  if (!open.empty()) result.push_back({});
  return result;
}

/// What the last value of the trail can be.
std::vector<Value> Matcher::follow(const Trail& trail, const Assignment& so) const {
  auto input = so.inputs.find(trail.shared);
  std::set<Value> now{input != so.inputs.end() ? input->second
                                               : Value{so.nodes.at(trail.shared.node), trail.shared.output}};
  for (Value step : trail.steps) {
    std::set<Value> next;
    for (Value v : now) {
      for (int reader : index_.readersOf(v)) {
        if (reader >= 0 && view().nodes()[static_cast<size_t>(reader)].op == program().node(step).op)
          next.insert({reader, step.output});
      }
    }
    now = std::move(next);
  }
  return {now.begin(), now.end()};
}

std::vector<Value> nearest(std::vector<Value> values, int anchor) {
  if (values.size() <= kMostSiblings) return values;
  std::stable_sort(values.begin(), values.end(),
                   [&](Value a, Value b) { return std::abs(a.node - anchor) < std::abs(b.node - anchor); });
  values.resize(kMostSiblings);
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<Assignment> Matcher::at(int anchor) const {
  const auto& outputs = program().outputs();
  std::vector<Assignment> ways;
  unify(outputs[0], {anchor, outputs[0].output}, {}, ways);
  for (const Trail& trail : trails_) {
    std::vector<Assignment> next;
    if (trail.steps.empty()) return next;  // nothing is shared
    for (const Assignment& a : ways) {
      for (Value v : nearest(follow(trail, a), anchor))
        unify(trail.steps.back(), v, a, next);
    }
    ways = std::move(next);
  }
  std::erase_if(ways, [&](const Assignment& a) { return !hasAllOutputs(a); });
  return ways;
}

/// Outputs of different nodes are of different nodes.
bool Matcher::hasAllOutputs(const Assignment& a) const {
  std::map<int, int> meant;
  for (Value p : program().outputs()) {
    auto it = a.nodes.find(p.node);
    if (it != a.nodes.end() && meant.emplace(it->second, p.node).first->second != p.node) return false;
  }
  return true;
}

Expected<void> Matcher::checkConstants(const Assignment& a) const {
  for (const auto& [p, v] : a.inputs) {
    if (program().node(p).scalar("constant") == Expr(1) && !index_.isConstant(v)) {
      return fail(ErrorKind::kCheck, fmt::format("{} is not a constant of the model", program().name(p)));
    }
  }
  return {};
}

Expected<void> Matcher::checkInterior(const Assignment& a) const {
  for (const auto& [p, v] : a.nodes) {
    const Node& node = program().nodes()[static_cast<size_t>(p)];
    for (int o = 0; o < static_cast<int>(node.names.size()); ++o) {
      const auto& outputs = program().outputs();
      if (std::find(outputs.begin(), outputs.end(), Value{p, o}) != outputs.end()) continue;
      for (int reader : index_.readersOf({v, o})) {
        bool inside = std::any_of(a.nodes.begin(), a.nodes.end(), [&](const auto& n) { return n.second == reader; });
        if (!inside) return fail(ErrorKind::kCheck, fmt::format("its {} is used elsewhere", node.op->name));
      }
    }
  }
  return {};
}

void Matcher::enterAttributes(const Assignment& a, std::vector<Equation>& equations) const {
  for (const auto& [p, v] : a.nodes) {
    const Node &pn = program().nodes()[static_cast<size_t>(p)], &vn = view().nodes()[static_cast<size_t>(v)];
    for (const auto& [name, left] : pn.attributes) {
      const Attribute& right = vn.attributes.find(name)->second;
      std::string where = fmt::format("{} of {}", name, pn.op->name);
      if (const auto* e = std::get_if<Expr>(&left))
        equations.push_back({*e, *std::get<Expr>(right).asConstant(), where});
      if (const auto* list = std::get_if<std::vector<Expr>>(&left)) {
        const auto& values = std::get<std::vector<Expr>>(right);
        for (size_t i = 0; i < list->size(); ++i)
          equations.push_back({(*list)[i], *values[i].asConstant(), where});
      }
      if (const auto* layout = std::get_if<LayoutSpec>(&left)) {
        const auto& axes = std::get<LayoutSpec>(right).axes;
        for (size_t i = 0; i < axes.size(); ++i)
          equations.push_back({layout->axes[i].extent, *axes[i].extent.asConstant(), where});
      }
    }
  }
}

/// kCheck: a tensor of another rank.
Expected<void> Matcher::enterShapes(const Assignment& a, std::vector<Equation>& equations) const {
  auto enter = [&](const Shape& left, const Shape& right, const std::string& name) -> Expected<void> {
    if (left.size() != right.size()) return fail(ErrorKind::kCheck, "a tensor of another rank");
    for (size_t d = 0; d < left.size(); ++d)
      equations.push_back({left[d], *right[d].asConstant(), fmt::format("extent {} of {}", d, name)});
    return {};
  };
  for (const auto& [p, v] : a.inputs) {
    if (auto ok = enter(program().shape(p), view().shape(v), program().name(p)); !ok) return ok;
  }
  for (const auto& [p, v] : a.nodes) {
    const Node &pn = program().nodes()[static_cast<size_t>(p)], &vn = view().nodes()[static_cast<size_t>(v)];
    for (size_t o = 0; o < pn.shapes.size(); ++o) {
      if (auto ok = enter(pn.shapes[o], vn.shapes[o], pn.names[o]); !ok) return ok;
    }
  }
  return {};
}

/// The symbols' values are all known and in the pattern's class.
Expected<void> Matcher::checkClass(const Bindings& bound) const {
  for (const std::string& s : pattern_.shapes.symbols) {
    if (!bound.contains(s)) return fail(ErrorKind::kCheck, fmt::format("{} is not determined", s));
  }
  for (const Constraint& c : pattern_.shapes.constraints) {
    if (c.evaluate(bound) != true) return fail(ErrorKind::kCheck, fmt::format("{} does not hold", c.str()));
  }
  return {};
}

Expected<Bindings> Matcher::symbols(const Assignment& a) const {
  std::vector<Equation> equations;
  enterAttributes(a, equations);
  if (auto ok = enterShapes(a, equations); !ok) return tl::unexpected(ok.error());
  ConstantEvaluator constants(index_.view());
  for (const auto& [p, v] : a.closed) {
    auto constant = constants.value(v);
    if (!constant) return tl::unexpected(constant.error());
    auto more = closed_.equations(p, *constant);
    if (!more) return tl::unexpected(more.error());
    equations.insert(equations.end(), more->begin(), more->end());
  }
  auto bound = solve(equations);
  if (!bound) return bound;
  if (auto ok = checkClass(*bound); !ok) return tl::unexpected(ok.error());
  for (const auto& [p, v] : a.closed) {
    if (auto ok = closed_.check(p, *constants.value(v), *bound); !ok) return tl::unexpected(ok.error());
  }
  return bound;
}

Expected<Site> Matcher::site(const Assignment& a, int anchor) const {
  Site site;
  site.pattern = &pattern_;
  site.anchor = anchor;
  try {
    auto bound = symbols(a);
    if (!bound) return tl::unexpected(bound.error());
    site.symbols = std::move(*bound);
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
  if (auto ok = checkConstants(a); !ok) return tl::unexpected(ok.error());
  if (auto ok = checkInterior(a); !ok) return tl::unexpected(ok.error());
  for (const auto& [p, v] : a.nodes)
    site.nodes.push_back(v);
  std::sort(site.nodes.begin(), site.nodes.end());
  site.nodes.erase(std::unique(site.nodes.begin(), site.nodes.end()), site.nodes.end());
  for (Value p : program().inputs()) {
    auto it = a.inputs.find(p);
    if (it == a.inputs.end())
      return fail(ErrorKind::kCheck, fmt::format("the pattern does not use {}", program().name(p)));
    site.inputs.push_back(it->second);
  }
  for (Value p : program().outputs()) {
    auto it = a.nodes.find(p.node);
    if (it == a.nodes.end()) return fail(ErrorKind::kCheck, "the pattern passes an input through");
    site.outputs.push_back({it->second, p.output});
  }
  // A site is one step: what it takes is there before, along whatever path.
  bool feedsItself = std::any_of(site.inputs.begin(), site.inputs.end(), [&](Value v) {
    return std::binary_search(site.nodes.begin(), site.nodes.end(), v.node);
  });
  if (feedsItself || (site.outputs.size() > 1 && !index_.precedence().allows({site.nodes})))
    return fail(ErrorKind::kCheck, "one of its results is needed for another");
  return site;
}

/// The same for sites that differ only in the order of what is alike in the pattern.
std::tuple<std::vector<int>, std::vector<Value>, Bindings> unordered(const Site& site) {
  std::vector<Value> outputs = site.outputs;
  std::sort(outputs.begin(), outputs.end());
  return {site.nodes, std::move(outputs), site.symbols};
}

}  // namespace

std::vector<Site> match(const MatchIndex& index, const Pattern& pattern, std::vector<Refusal>& refusals) {
  Matcher matcher(index, pattern);
  std::vector<Site> sites;
  std::set<std::tuple<std::vector<int>, std::vector<Value>, Bindings>> known;
  for (int anchor : index.nodesOf(pattern.program.node(pattern.program.outputs()[0]).op)) {
    if (index.isConstant({anchor, 0})) continue;
    size_t before = sites.size();
    std::string reason;
    for (const Assignment& a : matcher.at(anchor)) {
      auto site = matcher.site(a, anchor);
      if (site) {
        bool isNew = site->outputs.size() == 1 || known.insert(unordered(*site)).second;
        if (isNew) sites.push_back(std::move(*site));
      } else if (reason.empty()) {
        reason = site.error().what;
      }
    }
    if (sites.size() == before && !reason.empty()) refusals.push_back({anchor, pattern.name, "", reason});
  }
  return sites;
}

}  // namespace pet
