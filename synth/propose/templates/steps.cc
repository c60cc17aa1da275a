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

}  // namespace

std::vector<Template> stepTemplates(const Pattern& pattern) {
  auto program = Parts(pattern.program).run();
  if (!program) return {};
  return {{"parts", "parts", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
