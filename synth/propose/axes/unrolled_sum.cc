#include "synth/propose/axes/unrolled_sum.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "synth/analysis/along_axes.h"
#include "synth/analysis/in_pieces.h"
#include "synth/propose/program_writer.h"

namespace pet {
namespace {

constexpr int64_t kFewest = 2, kMost = 4;

/// A program that sums up along one axis what is computed element by element, and computes its outcome of the sum
/// alone, element by element. The axis, its extent, and the node that sums.
struct SummedAxis {
  Program program;
  int sum;
  size_t axis;
  std::string extent;
};

bool isElement(const Node& n) {
  return n.is(ops::kInput) || isElementwise(n);
}

/// Nothing but the sum's result, element by element, is read behind it.
bool isOfSumAlone(const Program& program, int sum) {
  const auto& nodes = program.nodes();
  return std::all_of(nodes.begin() + sum + 1, nodes.end(), [&](const Node& n) {
    return isElementwise(n) &&
           std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) { return v.node >= sum; });
  });
}

std::optional<SummedAxis> summedAxis(const Program& pattern) {
  if (pattern.outputs().size() != 1) return std::nullopt;
  const auto pieces = inPieces(pattern);
  const Program& program = pieces ? *pieces : pattern;
  const auto& nodes = program.nodes();
  const auto at = std::find_if_not(nodes.begin(), nodes.end(), isElement);
  if (at == nodes.end() || !at->is(ops::kReduceSum) || at->list("axes").size() != 1) return std::nullopt;
  const int sum = static_cast<int>(at - nodes.begin());
  if (!isOfSumAlone(program, sum)) return std::nullopt;
  const auto axis = static_cast<size_t>(at->list("axes")[0].constant());
  const Dim& extent = program.shape(at->operands[0])[axis];
  const auto symbol = extent.isAffine() ? extent.affine().asVariable() : std::nullopt;
  return symbol ? std::optional(SummedAxis{program, sum, axis, *symbol}) : std::nullopt;
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
    const auto source = summed_.program.substitute({where.begin(), where.end()});
    auto program = source ? unrolled(*source, count(unit)) : std::nullopt;
    if (!program) return;
    const std::string name = this->name(unit);
    judge({name, Proposal{name, "axes", where, classOf(pattern_, where, *program), *program}});
  }

 private:
  static int64_t count(size_t unit) { return kFewest + static_cast<int64_t>(unit); }

  std::optional<Program> unrolled(const Program& source, int64_t count) const {
    const Node& sum = source.nodes()[static_cast<size_t>(summed_.sum)];
    const size_t fromEnd = source.shape(sum.operands[0]).size() - summed_.axis;
    ProgramWriter form(source);
    std::optional<Value> y;
    for (int64_t k = 0; k < count && form.ok(); ++k) {
      const Value part = at(form, source, fromEnd, k, count);
      y = y ? form.add(ops::kAdd.text, {*y, part}) : part;
    }
    if (sum.scalar("keepdims") == 0) y = form.add(ops::kSqueeze.text, {*y}, {{"axes", sum.list("axes")}});
    std::map<Value, Value> now{{{summed_.sum, 0}, *y}};
    copy(form, source, summed_.sum + 1, static_cast<int>(source.nodes().size()), now);
    if (!form.ok()) return std::nullopt;
    auto program = std::move(form).finish(now.at(source.outputs()[0]));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

  /// Nodes from `first` to in front of `end`, of what `now` has in place of their operands.
  static void copy(ProgramWriter& form, const Program& source, int first, int end, std::map<Value, Value>& now) {
    for (int i = first; i < end && form.ok(); ++i) {
      const Node& n = source.nodes()[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) continue;
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(now.at(v));
      now[{i, 0}] = form.add(n.op->name, std::move(operands), n.attributes);
    }
  }

  /// What is summed up, at one position of the axis, which is so many from the end.
  Value at(ProgramWriter& form, const Program& source, size_t fromEnd, int64_t k, int64_t count) const {
    std::map<Value, Value> now;
    for (Value input : source.inputs()) {
      const Value x = form.find(source.name(input));
      const Shape& shape = source.shape(input);
      const bool varies = shape.size() >= fromEnd && shape[shape.size() - fromEnd] == Dim(count);
      now[input] = varies ? form.slice(x, shape.size() - fromEnd, k, k + 1) : x;
    }
    copy(form, source, 0, summed_.sum, now);
    return form.ok() ? now.at(source.nodes()[static_cast<size_t>(summed_.sum)].operands[0]) : Value();
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
