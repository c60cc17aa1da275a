#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/ops/op.h"
#include "synth/analysis/along_axes.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Windows of a MaxPool that slides by one, along each axis.
struct Windows {
  std::vector<Expr> kernel, pads;
};

/// Nullopt: the node is another operator, or its windows do not slide by one over neighbours.
std::optional<Windows> slidingMaximum(const Node& n) {
  auto isOne = [](const Expr& e) { return e == Expr(1); };
  if (!n.is(ops::kMaxPool)) return std::nullopt;
  const auto &strides = n.list("strides"), &dilations = n.list("dilations");
  if (!std::all_of(strides.begin(), strides.end(), isOne) || !std::all_of(dilations.begin(), dilations.end(), isOne))
    return std::nullopt;
  return Windows{n.list("kernel_shape"), n.list("pads")};
}

/// The windows that make `larger` of the maxima over `smaller`.
Windows over(const Windows& smaller, Windows larger) {
  for (size_t a = 0; a < larger.kernel.size(); ++a)
    larger.kernel[a] = larger.kernel[a] - smaller.kernel[a] + 1;
  for (size_t a = 0; a < larger.pads.size(); ++a)
    larger.pads[a] = larger.pads[a] - smaller.pads[a];
  return larger;
}

/// Each as a whole.
Expected<Program> cascade(const Pattern& pattern, const std::vector<Windows>& steps) {
  ProgramWriter form(pattern.program);
  Value x = form.find(pattern.program.name(pattern.program.inputs()[0]));
  std::vector<Value> results;
  for (const Windows& step : steps) {
    x = form.add(ops::kMaxPool.text, {x}, {{"kernel_shape", step.kernel}, {"pads", step.pads}});
    results.push_back(x);
  }
  return std::move(form).finish(results);
}

/// The same, each along these axes, one after another.
Expected<Program> alongAxes(const Pattern& pattern, const Program& whole, const std::vector<size_t>& axes) {
  ProgramWriter form(pattern.program);
  Value x = form.find(pattern.program.name(pattern.program.inputs()[0]));
  std::vector<Value> results;
  for (Value pool : whole.outputs()) {
    const auto along = AlongAxes::of(whole, whole.node(pool));
    if (!along || along->axes().size() != axes.size())
      return fail(ErrorKind::kUnsupported, "a MaxPool that leaves an axis alone");
    for (size_t a : axes)
      x = form.add(along->op(), {x}, *along->attributes(a, a, form.shape(x), a));
    results.push_back(x);
  }
  return std::move(form).finish(results);
}

}  // namespace

std::vector<Template> poolTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto& outputs = p.outputs();
  if (p.inputs().size() != 1 || outputs.size() < 2 || p.nodes().size() != outputs.size() + 1) return {};
  std::vector<Windows> steps;
  std::optional<Windows> before;
  for (Value output : outputs) {
    auto windows = slidingMaximum(p.node(output));
    if (!windows || (before && windows->kernel.size() != before->kernel.size())) return {};
    steps.push_back(before ? over(*before, *windows) : *windows);
    before = std::move(windows);
  }
  std::vector<Template> templates;
  auto propose = [&](const std::string& name, const Expected<Program>& program) {
    if (program) templates.push_back({name, "cascade", {}, classOf(pattern, {}, *program), *program});
  };
  const auto whole = cascade(pattern, steps);
  propose("larger-of-smaller", whole);
  std::vector<size_t> axes(steps[0].kernel.size());
  std::iota(axes.begin(), axes.end(), size_t{2});
  if (!whole || axes.size() == 1) return templates;
  for (const auto& order : {axes, std::vector(axes.rbegin(), axes.rend())})
    propose(fmt::format("larger-of-smaller_{}", fmt::join(order, "-")), alongAxes(pattern, *whole, order));
  return templates;
}

}  // namespace pet
