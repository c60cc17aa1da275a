#include "synth/propose/axes/whole_program.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/normal_form.h"
#include "synth/analysis/along_axes.h"
#include "synth/propose/program_writer.h"

namespace pet {
namespace {

/// It has one value for each position of a dimension that is so many from the end, or one in all.
bool isAlong(const Shape& shape, size_t fromEnd) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != Dim(1) && shape.size() - d != fromEnd) return false;
  }
  return true;
}

/// The one axis along which a program of several operators works, where it is not the last one.
std::optional<size_t> axisOf(const Program& program) {
  if (program.outputs().size() != 1) return std::nullopt;
  const std::vector<bool> constant = constantNodes(program);
  auto isConstant = [&](Value v) { return constant[static_cast<size_t>(v.node)]; };
  const Shape& whole = program.shape(program.inputs()[0]);
  std::optional<size_t> axis;
  size_t operators = 0;
  for (size_t i = 0; i < constant.size(); ++i) {
    const Node& n = program.nodes()[i];
    if (constant[i]) continue;
    if (n.shapes.size() != 1 || n.shapes[0].size() != whole.size()) return std::nullopt;
    if (n.is(ops::kInput)) {
      if (n.shapes[0] != whole) return std::nullopt;
      continue;
    }
    ++operators;
    if (isElementwise(n)) continue;
    const auto along = AlongAxes::of(program, n);
    const bool isOne = along && along->axes().size() == 1 && along->dropped().empty() && !along->isPool() &&
                       !along->isOfImages() && !along->isOfParts() && !along->isFilter();
    if (!isOne || (axis && *axis != along->axes()[0])) return std::nullopt;
    axis = along->axes()[0];
  }
  if (operators < 2 || !axis || *axis + 1 == whole.size()) return std::nullopt;
  for (size_t i = 0; i < constant.size(); ++i) {
    for (Value v : constant[i] ? std::vector<Value>() : program.nodes()[i].operands) {
      if (isConstant(v) && !isAlong(program.shape(v), whole.size() - *axis)) return std::nullopt;
    }
  }
  return axis;
}

/// How activations are seen, their axis behind all others.
enum class WholeView {
  kMerged,      ///< what is in front of it and what is behind it as one dimension each
  kSingle,      ///< the same without the first dimension, which is 1
  kTransposed,  ///< every dimension by itself: engines take such Transposes together with the layouts of their Convs
};

class WholeProgramGenerator : public Generator {
 public:
  WholeProgramGenerator(const Pattern& pattern, size_t axis) : pattern_(pattern), axis_(axis) {
    const Shape& shape = pattern.program.shape(pattern.program.inputs()[0]);
    if (axis > 0 && shape[0].isAffine() && shape[0].affine().asVariable()) views_.push_back(WholeView::kSingle);
    const bool merges = axis > 1 || axis + 2 < shape.size();
    if (merges) views_.push_back(WholeView::kTransposed);
  }

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kAxes; }
  size_t size() const override { return views_.size(); }
  std::string name(size_t unit) const override {
    const WholeView seen = views_[unit];
    return fmt::format("{}whole-{}_{}", seen == WholeView::kSingle ? "single_" : "", axis_,
                       seen == WholeView::kTransposed ? "transposed" : "last");
  }

  void propose(size_t unit, const Judge& judge) const override {
    std::vector<std::pair<std::string, Expr>> where;
    Program source = pattern_.program;
    const WholeView seen = views_[unit];
    if (seen == WholeView::kSingle) {
      where.emplace_back(*source.shape(source.inputs()[0])[0].affine().asVariable(), 1);
      source = source.substitute({where.begin(), where.end()}).value();
    }
    auto program = viewed(source, seen);
    if (!program) return;
    const std::string name = this->name(unit);
    judge({name, Proposal{name, "axes", where, classOf(pattern_, where, *program), *program}});
  }

 private:
  /// An activation's dimensions as it is seen.
  std::vector<AxisGroup> view(const Shape& s, WholeView seen) const {
    std::vector<AxisGroup> groups;
    if (seen == WholeView::kTransposed) {
      groups = singles(s, 0, axis_);
      const std::vector<AxisGroup> behind = singles(s, axis_ + 1, s.size());
      groups.insert(groups.end(), behind.begin(), behind.end());
    } else {
      const size_t begin = seen == WholeView::kSingle ? 1 : 0;
      if (axis_ > begin) groups.push_back(joined(s, begin, axis_));
      groups.push_back(joined(s, axis_ + 1, s.size()));
    }
    groups.push_back(joined(s, axis_, axis_ + 1));
    return groups;
  }

  std::optional<Program> viewed(const Program& source, WholeView seen) const {
    const std::vector<bool> constant = constantNodes(source);
    ProgramWriter form(source);
    std::map<Value, Value> now;
    for (int i = 0; i < static_cast<int>(source.nodes().size()) && form.ok(); ++i) {
      const Node& n = source.nodes()[static_cast<size_t>(i)];
      const bool isActivation = !constant[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) {
        const Value x = form.find(n.names[0]);
        now[{i, 0}] =
            isActivation ? form.layout(x, singles(n.shapes[0], 0, n.shapes[0].size()), view(n.shapes[0], seen)) : x;
        continue;
      }
      std::vector<Value> operands;
      for (Value v : n.operands) {
        const bool isWeight = isActivation && constant[static_cast<size_t>(v.node)] && !source.shape(v).empty();
        operands.push_back(isWeight ? alongLast(form, now.at(v)) : now.at(v));
      }
      if (!form.ok()) return std::nullopt;
      Attributes attributes = n.attributes;
      if (isActivation && !isElementwise(n)) {
        const Shape& operand = form.shape(operands[0]);
        attributes = *AlongAxes::of(source, n)->attributes(axis_, axis_, operand, operand.size() - 1);
      }
      now[{i, 0}] = form.add(n.op->name, std::move(operands), std::move(attributes));
    }
    if (!form.ok()) return std::nullopt;
    const Shape& result = source.shape(source.outputs()[0]);
    const Value y = form.layout(now.at(source.outputs()[0]), view(result, seen), singles(result, 0, result.size()));
    auto program = std::move(form).finish(y);
    return program ? std::optional(rewrite::inNormalForm(*program)) : std::nullopt;
  }

  /// A constant that varies along the axis alone: a vector.
  static Value alongLast(ProgramWriter& form, Value constant) {
    const Shape& s = form.shape(constant);
    return form.layout(constant, singles(s, 0, s.size()), {joined(s, 0, s.size())});
  }

  const Pattern pattern_;
  const size_t axis_;
  std::vector<WholeView> views_{WholeView::kMerged};
};

}  // namespace

MadeGenerator wholeProgramGenerator(const Pattern& pattern) {
  const auto axis = axisOf(pattern.program);
  if (!axis) return tl::unexpected(std::string());
  return std::make_unique<WholeProgramGenerator>(pattern, *axis);
}

}  // namespace pet
