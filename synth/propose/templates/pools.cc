#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/ops/op.h"
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

Value pool(ProgramWriter& form, Value x, const Windows& windows) {
  return form.add(ops::kMaxPool.text, {x}, {{"kernel_shape", windows.kernel}, {"pads", windows.pads}});
}

/// The same one axis after another.
Value poolByAxes(ProgramWriter& form, Value x, const Windows& windows, const std::vector<size_t>& axes) {
  const size_t n = windows.kernel.size();
  for (size_t a : axes) {
    Windows alone{std::vector<Expr>(n, 1), std::vector<Expr>(2 * n, 0)};
    alone.kernel[a] = windows.kernel[a];
    for (size_t end : {a, n + a})
      alone.pads[end] = windows.pads[end];
    x = pool(form, x, alone);
  }
  return x;
}

/// By the axes in this order; none: as a whole.
void propose(const Pattern& pattern,
             const std::vector<Windows>& steps,
             const std::vector<size_t>& axes,
             std::vector<Template>& templates) {
  ProgramWriter form(pattern.program);
  Value x = form.find(pattern.program.name(pattern.program.inputs()[0]));
  std::vector<Value> results;
  for (const Windows& step : steps)
    results.push_back(x = axes.empty() ? pool(form, x, step) : poolByAxes(form, x, step, axes));
  auto program = std::move(form).finish(results);
  if (!program) return;
  std::string name = "larger-of-smaller";
  for (size_t a : axes)
    name += fmt::format("{}{}", a == axes.front() ? "_" : "-", a + 2);
  templates.push_back({name, "cascade", {}, classOf(pattern, {}, *program), std::move(*program)});
}

}  // namespace

std::vector<Template> poolTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const auto& outputs = p.outputs();
  if (p.inputs().size() != 1 || outputs.size() < 2 || p.nodes().size() != outputs.size() + 1) return {};
  std::vector<Windows> steps;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto windows = slidingMaximum(p.node(outputs[i]));
    auto before = i == 0 ? std::nullopt : slidingMaximum(p.node(outputs[i - 1]));
    if (!windows || (i > 0 && windows->kernel.size() != before->kernel.size())) return {};
    steps.push_back(before ? over(*before, std::move(*windows)) : std::move(*windows));
  }
  std::vector<size_t> axes(steps[0].kernel.size());
  for (size_t a = 0; a < axes.size(); ++a)
    axes[a] = a;
  std::vector<Template> templates;
  propose(pattern, steps, {}, templates);
  if (axes.size() < 2) return templates;
  propose(pattern, steps, axes, templates);
  propose(pattern, steps, {axes.rbegin(), axes.rend()}, templates);
  return templates;
}

}  // namespace pet
