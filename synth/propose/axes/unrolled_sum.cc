#include "synth/propose/axes/unrolled_sum.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "synth/propose/axes/along_axes.h"
#include "synth/propose/program_writer.h"

namespace pet {
namespace {

constexpr int64_t kFewest = 2, kMost = 4;

/// The axis that a program sums up, and its extent.
struct SummedAxis {
  size_t axis;
  std::string extent;
};

std::optional<SummedAxis> summedAxis(const Program& program) {
  if (program.outputs().size() != 1) return std::nullopt;
  const Node& sum = program.node(program.outputs()[0]);
  if (!sum.is(ops::kReduceSum) || sum.list("axes").size() != 1) return std::nullopt;
  const bool isOfElements = std::all_of(program.nodes().begin(), program.nodes().end() - 1,
                                        [](const Node& n) { return n.is(ops::kInput) || isElementwise(n); });
  if (!isOfElements) return std::nullopt;
  const auto axis = static_cast<size_t>(sum.list("axes")[0].constant());
  const Dim& extent = program.shape(sum.operands[0])[axis];
  const auto symbol = extent.isAffine() ? extent.affine().asVariable() : std::nullopt;
  return symbol ? std::optional(SummedAxis{axis, *symbol}) : std::nullopt;
}

class UnrolledSumGenerator : public Generator {
 public:
  UnrolledSumGenerator(const Pattern& pattern, SummedAxis summed) : pattern_(pattern), summed_(std::move(summed)) {}

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kAxes; }
  size_t size() const override { return static_cast<size_t>(kMost - kFewest + 1); }
  std::string name(size_t unit) const override { return fmt::format("parts-{}", count(unit)); }

  void propose(size_t unit, const Judge& judge) const override {
    const std::vector<std::pair<std::string, Expr>> where{{summed_.extent, count(unit)}};
    const auto source = pattern_.program.substitute({where.begin(), where.end()});
    auto program = source ? unrolled(*source, count(unit)) : std::nullopt;
    if (!program) return;
    const std::string name = this->name(unit);
    judge({name, Proposal{name, "axes", where, classOf(pattern_, where, *program), *program}});
  }

 private:
  static int64_t count(size_t unit) { return kFewest + static_cast<int64_t>(unit); }

  std::optional<Program> unrolled(const Program& source, int64_t count) const {
    const Node& sum = source.node(source.outputs()[0]);
    const size_t fromEnd = source.shape(sum.operands[0]).size() - summed_.axis;
    ProgramWriter form(source);
    std::optional<Value> y;
    for (int64_t k = 0; k < count && form.ok(); ++k) {
      const Value part = at(form, source, fromEnd, k, count);
      y = y ? form.add(ops::kAdd.text, {*y, part}) : part;
    }
    if (sum.scalar("keepdims") == 0) y = form.add(ops::kSqueeze.text, {*y}, {{"axes", sum.list("axes")}});
    auto program = std::move(form).finish(*y);
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

  /// What is summed up, at one position of the axis, which is so many from the end.
  static Value at(ProgramWriter& form, const Program& source, size_t fromEnd, int64_t k, int64_t count) {
    std::map<Value, Value> now;
    for (int i = 0; i + 1 < static_cast<int>(source.nodes().size()) && form.ok(); ++i) {
      const Node& n = source.nodes()[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) {
        const Value x = form.find(n.names[0]);
        const Shape& shape = n.shapes[0];
        const bool varies = shape.size() >= fromEnd && shape[shape.size() - fromEnd] == Dim(count);
        now[{i, 0}] = varies ? form.slice(x, shape.size() - fromEnd, k, k + 1) : x;
        continue;
      }
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(now.at(v));
      now[{i, 0}] = form.add(n.op->name, std::move(operands), n.attributes);
    }
    return form.ok() ? now.at(source.node(source.outputs()[0]).operands[0]) : Value();
  }

  const Pattern pattern_;
  const SummedAxis summed_;
};

}  // namespace

MadeGenerator unrolledSumGenerator(const Pattern& pattern) {
  auto summed = summedAxis(pattern.program);
  if (!summed) return tl::unexpected(std::string());
  return std::make_unique<UnrolledSumGenerator>(pattern, std::move(*summed));
}

}  // namespace pet
