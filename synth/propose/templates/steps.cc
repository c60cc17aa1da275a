#include <algorithm>
#include <map>
#include <optional>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Every `step`-th position of a dimension from `phase` on, of which there are as many from each phase on.
struct SteppedSlice {
  size_t dim;
  int64_t phase, step;
  Dim each;
};

std::optional<SteppedSlice> steppedSlice(const Program& p, const Node& n) {
  if (!n.is(ops::kSlice) || n.list("axes").size() != 1 || n.list("steps").empty()) return std::nullopt;
  const auto phase = n.list("starts")[0].asConstant();
  const int64_t step = n.list("steps")[0].constant();
  const auto dim = static_cast<size_t>(n.list("axes")[0].constant());
  const Dim& whole = p.shape(n.operands[0])[dim];
  const auto each = quotient(whole, Dim(step));
  if (step < 2 || !phase || *phase >= step || !each || Dim(n.list("ends")[0]) != whole) return std::nullopt;
  return SteppedSlice{dim, *phase, step, *each};
}

/// Rebuilds a program with parts of Splits in the place of such Slices.
class Parts {
 public:
  explicit Parts(const Program& program) : program_(program), form_(program) {}

  std::optional<Program> run() {
    std::map<Value, Value> now;
    bool any = false;
    for (int i = 0; i < static_cast<int>(program_.nodes().size()) && form_.ok(); ++i) {
      const Node& n = program_.nodes()[static_cast<size_t>(i)];
      if (n.names.size() != 1) return std::nullopt;
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(now.at(v));
      const auto slice = n.is(ops::kInput) ? std::nullopt : steppedSlice(program_, n);
      any = any || slice;
      now[{i, 0}] = n.is(ops::kInput) ? form_.find(n.names[0])
                  : slice             ? part(operands[0], *slice)
                                      : form_.add(n.op->name, std::move(operands), n.attributes);
    }
    std::vector<Value> outputs;
    for (Value v : program_.outputs())
      outputs.push_back(now[v]);
    auto program = std::move(form_).finish(std::move(outputs));
    return any && program ? std::optional(std::move(*program)) : std::nullopt;
  }

 private:
  Value part(Value x, const SteppedSlice& slice) {
    auto& split = splits_[{x, slice.dim}];
    if (!form_.ok()) return {};
    if (split.node < 0) {
      std::vector<AxisGroup> from, to;
      for (size_t d = 0; d < form_.shape(x).size(); ++d) {
        const LayoutAxis axis{"a" + std::to_string(d), d == slice.dim ? slice.each : form_.shape(x)[d]};
        const LayoutAxis phase{"p", slice.step};
        from.push_back(d == slice.dim ? AxisGroup{axis, phase} : AxisGroup{axis});
        to.push_back({axis});
        if (d == slice.dim) to.push_back({phase});
      }
      split = form_.add(ops::kSplit.text, {form_.layout(x, from, to)},
                        {{"axis", Expr(static_cast<int64_t>(slice.dim) + 1)},
                         {"split", std::vector<Expr>(static_cast<size_t>(slice.step), 1)}});
    }
    return form_.add(ops::kSqueeze.text, {{split.node, static_cast<int>(slice.phase)}},
                     {{"axes", std::vector<Expr>{static_cast<int64_t>(slice.dim) + 1}}});
  }

  const Program& program_;
  ProgramWriter form_;
  std::map<std::pair<Value, size_t>, Value> splits_;
};

/// Slices of one input by steps along the same dimensions, from every phase on, joined in the order in which their
/// phases count.
struct JoinedPhases {
  Value x;
  size_t joined;               ///< the dimension along which they are
  std::vector<size_t> dims;    ///< those with steps, the slowest phase first
  std::vector<int64_t> steps;  ///< of each
};

/// The phases of a Slice by dimension, and the steps, where it takes as many positions from each phase on.
struct SlicePhases {
  std::map<size_t, int64_t> of, steps;
};

std::optional<SlicePhases> phasesOfSlice(const Program& p, const Node& slice) {
  SlicePhases phases;
  const std::vector<Expr>& axes = slice.list("axes");
  if (slice.list("steps").size() != axes.size()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<size_t>(axes[i].constant());
    const auto phase = slice.list("starts")[i].asConstant();
    const int64_t step = slice.list("steps")[i].constant();
    const Dim& whole = p.shape(slice.operands[0])[dim];
    if (step < 2 || !phase || *phase >= step || !quotient(whole, Dim(step)) || Dim(slice.list("ends")[i]) != whole)
      return std::nullopt;
    phases.of.emplace(dim, *phase);
    phases.steps.emplace(dim, step);
  }
  return phases;
}

std::optional<JoinedPhases> joinedPhases(const Program& p) {
  const Node& concat = p.node(p.outputs()[0]);
  if (p.outputs().size() != 1 || !concat.is(ops::kConcat) || concat.operands.empty()) return std::nullopt;
  JoinedPhases all{{}, static_cast<size_t>(concat.scalar("axis").constant()), {}, {}};
  std::vector<SlicePhases> parts;
  for (Value v : concat.operands) {
    const Node& slice = p.node(v);
    auto phases = slice.is(ops::kSlice) ? phasesOfSlice(p, slice) : std::nullopt;
    const bool fits = phases && p.node(slice.operands[0]).is(ops::kInput) && !phases->of.contains(all.joined) &&
                      (parts.empty() || (slice.operands[0] == all.x && phases->steps == parts[0].steps));
    if (!fits) return std::nullopt;
    all.x = slice.operands[0];
    parts.push_back(std::move(*phases));
  }
  std::vector<size_t> dims;
  for (const auto& [dim, step] : parts[0].steps)
    dims.push_back(dim);
  do {  // the order of the dimensions in which part i has the digits of i
    auto counts = [&](size_t i) {
      auto rest = static_cast<int64_t>(i);
      for (size_t k = dims.size(); k-- > 0; rest /= parts[0].steps[dims[k]]) {
        if (parts[i].of[dims[k]] != rest % parts[0].steps[dims[k]]) return false;
      }
      return true;
    };
    size_t number = 1, i = 0;
    for (const auto& [dim, step] : parts[0].steps)
      number *= static_cast<size_t>(step);
    while (i < parts.size() && counts(i))
      ++i;
    if (i < parts.size() || number != parts.size()) continue;
    all.dims = dims;
    for (size_t dim : dims)
      all.steps.push_back(parts[0].steps[dim]);
    return all;
  } while (std::next_permutation(dims.begin(), dims.end()));
  return std::nullopt;
}

}  // namespace

// [… (h a) … (w b) … c] -> [… h … w … (b a c)]
std::vector<Template> phaseTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto phases = joinedPhases(p);
  if (!phases) return {};
  std::vector<AxisGroup> from, to;
  const Shape& x = p.shape(phases->x);
  AxisGroup inner;
  for (size_t k = 0; k < phases->dims.size(); ++k)
    inner.push_back({"p" + std::to_string(phases->dims[k]), phases->steps[k]});
  for (size_t d = 0; d < x.size(); ++d) {
    const auto at = std::find(phases->dims.begin(), phases->dims.end(), d) - phases->dims.begin();
    const bool isCut = static_cast<size_t>(at) < phases->dims.size();
    const LayoutAxis axis{"a" + std::to_string(d),
                          isCut ? *quotient(x[d], inner[static_cast<size_t>(at)].extent) : x[d]};
    from.push_back(isCut ? AxisGroup{axis, inner[static_cast<size_t>(at)]} : AxisGroup{axis});
    to.push_back(d == phases->joined ? inner + AxisGroup{axis} : AxisGroup{axis});
  }
  ProgramWriter form(p);
  auto program = std::move(form).finish(form.layout(form.find(p.name(phases->x)), from, to));
  if (!program) return {};
  return {{"regrouped", "regrouped", {}, classOf(pattern, {}, *program), *program}};
}

std::vector<Template> stepTemplates(const Pattern& pattern) {
  auto program = Parts(pattern.program).run();
  if (!program) return {};
  return {{"parts", "parts", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
