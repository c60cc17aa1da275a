#include "applier/match/find_sites.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "applier/match/closed_values.h"
#include "applier/match/promise.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "rules/rewrite/bind.h"
#include "rules/rewrite/unify.h"

namespace pet {
namespace {

/// So many candidates for an output are looked at, against values that everybody reads; those next to the anchor.
constexpr size_t kMostSiblings = 32;

using rewrite::Assignment;
using rewrite::DimEquation;

template <class T>
using Fits = tl::expected<T, Reason>;

/// The way from a value that is matched already to an output: each step reads the one before it.
struct Trail {
  Value shared;
  std::vector<Value> steps;  ///< of the pattern; the last one is the output
};

class Matcher {
 public:
  Matcher(const MatchIndex& index, const Pattern& pattern, const Form& form)
      : index_(index),
        pattern_(pattern),
        form_(form),
        closed_(*form_.program),
        factors_(*form_.program, closed_),
        unification_(
            *form_.program,
            form.isWritten ? index.written() : index.view().program,
            leaves(),
            [this](Value v) { return index_.isConstant(v); },
            pattern.anyNumbers),
        trails_(trails()) {}
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Every way to map the pattern with its first output at `anchor`.
  std::vector<Assignment> at(int anchor) const;
  /// The site, or why it is none.
  Fits<Site> site(const Assignment& a, int anchor) const;

 private:
  const Program& program() const { return *form_.program; }
  /// The pattern's values for which any constant may stand.
  std::vector<bool> leaves() const;
  const Program& view() const { return form_.isWritten ? index_.written() : index_.view().program; }
  std::optional<Trail> trailTo(Value v, const std::set<int>& reached) const;
  void reach(int node, std::set<int>& reached) const;
  /// To the outputs that are not inside of earlier ones, in the order in which they are found; an empty one at the end
  /// if some share nothing with the others.
  std::vector<Trail> trails() const;
  std::vector<Value> follow(const Trail& trail, const Assignment& so) const;
  bool hasAllOutputs(const Assignment& a) const;
  Fits<void> checkConstants(const Assignment& a) const;
  Fits<void> checkInterior(const Assignment& a) const;
  /// The pattern's operators that something stands for, and that are no leaves.
  std::vector<int> operatorsOf(const Assignment& a) const;
  Fits<void> enterClosed(const Assignment& a, std::vector<DimEquation>& equations) const;
  Fits<void> enterExpressions(const Assignment& a, std::vector<DimEquation>& equations) const;
  Fits<void> checkClass(const rewrite::Symbols& bound) const;
  Fits<Numbers> numbers(const Assignment& a) const;
  Fits<void> checkClosed(const Assignment& a, const rewrite::Symbols& symbols, const Numbers& numbers) const;
  Fits<std::vector<FactoredConstant>> factored(const Assignment& a, const rewrite::Symbols& symbols) const;
  Value ofPattern(const Site& site, const std::string& input) const;
  /// The values of the form's symbols, and with them the pattern's batch.
  Fits<rewrite::Symbols> symbols(const Assignment& a, const Numbers& numbers) const;

  const MatchIndex& index_;
  const Pattern& pattern_;
  const Form& form_;
  ClosedValues closed_;
  WeightFactors factors_;
  rewrite::Unification unification_;
  std::vector<Trail> trails_;
};

std::vector<bool> Matcher::leaves() const {
  std::vector<bool> leaves = closed_.nodes();
  for (size_t i = 0; i < leaves.size(); ++i)
    leaves[i] = leaves[i] || factors_.nodes()[i];
  return leaves;
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
  const Value known = so[static_cast<size_t>(trail.shared.node)];
  bool whole = program().node(trail.shared).is(ops::kInput) || unification_.isLeaf(trail.shared.node);
  std::set<Value> now{whole ? known : Value{known.node, trail.shared.output}};
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
  unification_.unify(outputs[0], {anchor, outputs[0].output}, unification_.none(), ways);
  for (const Trail& trail : trails_) {
    std::vector<Assignment> next;
    if (trail.steps.empty()) return next;  // nothing is shared
    for (const Assignment& a : ways) {
      for (Value v : nearest(follow(trail, a), anchor))
        unification_.unify(trail.steps.back(), v, a, next);
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
    int node = a[static_cast<size_t>(p.node)].node;
    if (node >= 0 && meant.emplace(node, p.node).first->second != p.node) return false;
  }
  return true;
}

Fits<void> Matcher::checkConstants(const Assignment& a) const {
  for (Value p : program().inputs()) {
    const Value v = a[static_cast<size_t>(p.node)];
    if (v.node >= 0 && program().node(p).scalar("constant") == Expr(1) && !index_.isConstant(v)) {
      if (index_.isDequantized(v))
        return refuse(ReasonKind::kQuantized, program().name(p) + " is quantized: a DequantizeLinear computes it");
      if (index_.isReplaceable(v))
        return refuse(ReasonKind::kReplaceable, program().name(p) + " is not a constant: a caller may replace it");
      return refuse(ReasonKind::kVariable, program().name(p) + " is not a constant of the model");
    }
  }
  return {};
}

std::vector<int> Matcher::operatorsOf(const Assignment& a) const {
  std::vector<int> result;
  for (int p = 0; p < static_cast<int>(a.size()); ++p) {
    bool isInput = program().nodes()[static_cast<size_t>(p)].is(ops::kInput);
    if (a[static_cast<size_t>(p)].node >= 0 && !isInput && !unification_.isLeaf(p)) result.push_back(p);
  }
  return result;
}

Fits<void> Matcher::checkInterior(const Assignment& a) const {
  const std::vector<int> operators = operatorsOf(a);
  const auto& outputs = program().outputs();
  for (int p : operators) {
    const Node& node = program().nodes()[static_cast<size_t>(p)];
    for (int o = 0; o < static_cast<int>(node.names.size()); ++o) {
      if (std::find(outputs.begin(), outputs.end(), Value{p, o}) != outputs.end()) continue;
      for (int reader : index_.readersOf({a[static_cast<size_t>(p)].node, o})) {
        bool inside = std::any_of(operators.begin(), operators.end(),
                                  [&](int n) { return a[static_cast<size_t>(n)].node == reader; });
        if (!inside) return refuse(ReasonKind::kLiveOut, fmt::format("its {} is used elsewhere", node.op->name));
      }
    }
  }
  return {};
}

/// The symbols' values are all known and in the pattern's class.
Fits<void> Matcher::checkClass(const rewrite::Symbols& bound) const {
  for (const std::string& s : pattern_.shapes.symbols) {
    if (!bound.contains(s)) return refuse(ReasonKind::kOtherShape, fmt::format("{} is not determined", s));
  }
  auto implied = [&](const Constraint& c) { return index_.sizes().implies(c); };
  for (const Constraint& c : pattern_.shapes.constraints) {
    if (rewrite::holds(c, bound, implied)) continue;
    auto promise = promiseFor(pattern_.shapes, bound, index_.sizes());
    const ReasonKind kind = promise ? ReasonKind::kOpenSizes : ReasonKind::kOtherSizes;
    return tl::unexpected(Reason{kind, fmt::format("{} does not hold", c.str()), {}, std::move(promise)});
  }
  return {};
}

Fits<void> Matcher::enterClosed(const Assignment& a, std::vector<DimEquation>& equations) const {
  ConstantEvaluator constants(index_.view());
  for (int p = 0; p < static_cast<int>(a.size()); ++p) {
    const Value v = a[static_cast<size_t>(p)];
    if (v.node < 0 || !closed_.contains({p, 0})) continue;
    auto constant = constants.value(v);
    if (!constant) return refuse(ReasonKind::kOtherValues, constant.error().what);
    auto more = closed_.equations({p, 0}, *constant);
    if (!more) return refuse(ReasonKind::kOtherValues, more.error().what);
    equations.insert(equations.end(), more->begin(), more->end());
  }
  return {};
}

/// The extents of expressions of weights.
Fits<void> Matcher::enterExpressions(const Assignment& a, std::vector<DimEquation>& equations) const {
  for (int p = 0; p < static_cast<int>(a.size()); ++p) {
    const Value v = a[static_cast<size_t>(p)];
    if (v.node < 0 || !factors_.contains({p, 0})) continue;
    const Shape &mine = program().shape({p, 0}), &theirs = view().shape(v);
    if (mine.size() != theirs.size()) return refuse(ReasonKind::kOtherShape, std::string(rewrite::kOtherRank));
    for (size_t d = 0; d < mine.size(); ++d)
      equations.push_back({mine[d], theirs[d], "extent", program().name({p, 0}), static_cast<int>(d)});
  }
  return {};
}

/// Those of the symbols that are numbers.
Bindings numbersAmong(const rewrite::Symbols& symbols) {
  Bindings numbers;
  for (const auto& [name, value] : symbols) {
    if (auto number = value.asConstant()) numbers.emplace(name, *number);
  }
  return numbers;
}

/// What the numbers that stand for others are: in attributes of the model's operators, or constants of it.
Fits<Numbers> Matcher::numbers(const Assignment& a) const {
  auto numbers = unification_.numbers(a);
  if (!numbers) return refuse(ReasonKind::kOtherShape, numbers.error().what);
  ConstantEvaluator constants(index_.view());
  for (int p = 0; p < static_cast<int>(a.size()) && !pattern_.anyNumbers.empty(); ++p) {
    const Value v = a[static_cast<size_t>(p)];
    if (v.node < 0 || !closed_.contains({p, 0})) continue;
    auto constant = constants.value(v);
    if (!constant) return refuse(ReasonKind::kOtherValues, constant.error().what);
    auto number = closed_.number({p, 0}, *constant, pattern_.anyNumbers);
    if (number && numbers->insert(*number).first->second != number->second)
      return refuse(ReasonKind::kOtherValues, "constants that are one number in the pattern differ");
  }
  return std::move(*numbers);
}

Fits<void> Matcher::checkClosed(const Assignment& a, const rewrite::Symbols& symbols, const Numbers& numbers) const {
  ConstantEvaluator constants(index_.view());
  const Bindings extents = numbersAmong(symbols);
  for (int p = 0; p < static_cast<int>(a.size()); ++p) {
    const Value v = a[static_cast<size_t>(p)];
    if (v.node < 0 || !closed_.contains({p, 0})) continue;
    if (auto ok = closed_.check({p, 0}, *constants.value(v), extents, numbers); !ok)
      return refuse(ReasonKind::kOtherValues, ok.error().what);
  }
  return {};
}

Fits<std::vector<FactoredConstant>> Matcher::factored(const Assignment& a, const rewrite::Symbols& symbols) const {
  ConstantEvaluator constants(index_.view());
  const Bindings numbers = numbersAmong(symbols);
  std::vector<FactoredConstant> result;
  for (int p = 0; p < static_cast<int>(a.size()); ++p) {
    const Value v = a[static_cast<size_t>(p)];
    if (v.node < 0 || !factors_.contains({p, 0})) continue;
    auto constant = constants.value(v);
    if (!constant) return refuse(ReasonKind::kOtherValues, constant.error().what);
    auto factored = factors_.factored({p, 0}, *constant, numbers);
    if (!factored) return refuse(ReasonKind::kOtherValues, factored.error().what);
    result.push_back(std::move(*factored));
  }
  return result;
}

Fits<rewrite::Symbols> Matcher::symbols(const Assignment& a, const Numbers& numbers) const {
  auto equations = unification_.equations(a);
  if (!equations) return refuse(ReasonKind::kOtherShape, equations.error().what);
  if (auto ok = enterClosed(a, *equations); !ok) return tl::unexpected(ok.error());
  if (auto ok = enterExpressions(a, *equations); !ok) return tl::unexpected(ok.error());
  auto solved = rewrite::solve(*equations);
  if (!solved) return refuse(ReasonKind::kOtherShape, solved.error().what);
  if (!unification_.mapsFit(a, *solved)) return refuse(ReasonKind::kOtherShape, "an index map of another kind");
  if (!form_.batch.empty()) {
    std::vector<Dim> factors;
    for (const std::string& dim : form_.dims)
      factors.push_back(solved->at(dim));
    solved->insert_or_assign(form_.batch, factors.empty() ? Dim(1) : Dim::product(factors));
  }
  if (auto ok = checkClass(*solved); !ok) return tl::unexpected(ok.error());
  if (auto ok = checkClosed(a, *solved, numbers); !ok) return tl::unexpected(ok.error());
  return std::move(*solved);
}

/// What an input of the site's program is in the pattern: an input, or an expression of weights.
Value Matcher::ofPattern(const Site& site, const std::string& input) const {
  for (const FactoredConstant& f : site.factored) {
    if (f.weights.name(f.weights.inputs()[0]) == input) return f.expression;
  }
  return program().find(input).value();
}

Fits<Site> Matcher::site(const Assignment& a, int anchor) const {
  Site site;
  site.pattern = &pattern_;
  site.program = form_.program;
  site.isReadAway = form_.isWritten;
  site.isInPieces = form_.pieces > 1;
  if (form_.pieces > index_.piecesOf(anchor))
    return refuse(ReasonKind::kNothingToDo, "the model has it in fewer operators");
  site.anchor = anchor;
  site.element = index_.view().elements[static_cast<size_t>(anchor)];
  auto numbers = this->numbers(a);
  if (!numbers) return tl::unexpected(numbers.error());
  try {
    auto bound = symbols(a, *numbers);
    if (!bound) return tl::unexpected(bound.error());
    auto factored = this->factored(a, *bound);
    if (!factored) return tl::unexpected(factored.error());
    if (!factored->empty()) site.program = std::make_shared<const Program>(factors_.withConstants(*factored));
    site.factored = std::move(*factored);
    if (!form_.batch.empty()) site.batch = rewrite::BatchDimensions{form_.batch, form_.dims};
    for (const std::string& dim : form_.dims) {
      site.batch->extents.push_back(bound->at(dim));
      bound->erase(dim);
    }
    site.symbols = std::move(*bound);
  } catch (const OverflowError&) {
    return refuse(ReasonKind::kNotWritten, "extents beyond 64 bits");
  }
  site.numbers = std::move(*numbers);
  if (auto ok = checkConstants(a); !ok) return tl::unexpected(ok.error());
  if (auto ok = checkInterior(a); !ok) return tl::unexpected(ok.error());
  for (int p : operatorsOf(a)) {
    const int node = a[static_cast<size_t>(p)].node;
    const std::vector<int> nodes = form_.isWritten ? index_.readAway(node).nodes : std::vector{node};
    site.nodes.insert(site.nodes.end(), nodes.begin(), nodes.end());
  }
  std::sort(site.nodes.begin(), site.nodes.end());
  site.nodes.erase(std::unique(site.nodes.begin(), site.nodes.end()), site.nodes.end());
  for (Value input : site.program->inputs()) {
    const std::string& name = site.program->name(input);
    const Value v = a[static_cast<size_t>(ofPattern(site, name).node)];
    if (v.node < 0) return refuse(ReasonKind::kOtherShape, fmt::format("the pattern does not use {}", name));
    site.inputs.push_back(v);
    // What compares floating point computes with that, whatever its results are.
    const ElementType element = index_.view().elements[static_cast<size_t>(v.node)];
    if (!isComputed(site.element) && isComputed(element)) site.element = element;
  }
  for (Value p : program().outputs()) {
    if (program().node(p).is(ops::kInput) || unification_.isLeaf(p.node))
      return refuse(ReasonKind::kOtherShape, "the pattern passes an input through");
    const int node = a[static_cast<size_t>(p.node)].node;
    site.outputs.push_back(form_.isWritten ? index_.readAway(node).result : Value{node, p.output});
  }
  site.beside = {
      std::all_of(site.inputs.begin(), site.inputs.end(), [&](Value v) { return index_.isPlain(v); }),
      std::all_of(site.outputs.begin(), site.outputs.end(), [&](Value v) { return index_.isLast(v); }),
  };
  // A site is one step: what it takes is there before, along whatever path.
  bool feedsItself = std::any_of(site.inputs.begin(), site.inputs.end(), [&](Value v) {
    return std::binary_search(site.nodes.begin(), site.nodes.end(), v.node);
  });
  if (feedsItself || (site.outputs.size() > 1 && !index_.precedence().allows({site.nodes})))
    return refuse(ReasonKind::kEntangled, "one of its results is needed for another");
  return site;
}

/// The same for sites that differ only in the order of what is alike in the pattern.
std::tuple<std::vector<int>, std::vector<Value>, std::string> unordered(const Site& site) {
  std::vector<Value> outputs = site.outputs;
  std::sort(outputs.begin(), outputs.end());
  return {site.nodes, std::move(outputs), rewrite::str(site.symbols)};
}

}  // namespace

Value Site::operand(std::string_view input) const {
  const std::vector<Value> own = program->inputs();
  auto named = [&](Value v) { return program->name(v) == input; };
  return inputs.at(static_cast<size_t>(std::find_if(own.begin(), own.end(), named) - own.begin()));
}

std::vector<Site> match(const MatchIndex& index, const Pattern& pattern, Forms& forms, std::vector<Refusal>& refusals) {
  std::vector<std::unique_ptr<Matcher>> matchers;
  std::set<int> anchors;  // among MatchIndex::written(), too
  for (const Form& form : forms.of(pattern)) {
    const OpRow* op = form.program->node(form.program->outputs()[0]).op;
    const std::vector<int>& found = form.isWritten ? index.writtenNodesOf(op) : index.nodesOf(op);
    anchors.insert(found.begin(), found.end());
    matchers.push_back(std::make_unique<Matcher>(index, pattern, form));
  }
  std::vector<Site> sites;
  std::set<std::tuple<std::vector<int>, std::vector<Value>, std::string>> known;
  for (int node : anchors) {
    const int anchor = index.inView(node);
    if (index.isConstant({anchor, 0})) continue;
    bool matched = false;
    std::optional<Reason> reason;  // the first one, but for another rank if there is a form of that rank
    for (size_t form = 0; form < matchers.size() && !matched; ++form) {
      for (const Assignment& a : matchers[form]->at(node)) {
        auto site = matchers[form]->site(a, anchor);
        if (site) {
          matched = true;
          bool isNew = site->outputs.size() == 1 || known.insert(unordered(*site)).second;
          if (isNew) sites.push_back(std::move(*site));
        } else if (form == 0 ? !reason : reason && reason->detail == rewrite::kOtherRank) {
          reason = site.error();
        }
      }
    }
    if (!matched && reason) refusals.push_back({anchor, pattern.name, "", *reason});
  }
  return sites;
}

std::vector<Site> match(const MatchIndex& index, const Pattern& pattern, std::vector<Refusal>& refusals) {
  Forms forms;
  return match(index, pattern, forms, refusals);
}

}  // namespace pet
