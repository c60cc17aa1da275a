#include "synth/propose/axes/whole_program.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "rules/rewrite/normal_form.h"
#include "synth/propose/axes/along_axes.h"
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

class WholeProgramGenerator : public Generator {
 public:
  WholeProgramGenerator(const Pattern& pattern, size_t axis) : pattern_(pattern), axis_(axis) {
    const Dim& first = pattern.program.shape(pattern.program.outputs()[0])[0];
    hasSingle_ = axis > 0 && first.isAffine() && first.affine().asVariable();
  }

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kAxes; }
  size_t size() const override { return hasSingle_ ? 2 : 1; }
  std::string name(size_t unit) const override {
    return fmt::format("{}whole-{}_last", unit == 1 ? "single_" : "", axis_);
  }

  void propose(size_t unit, const Judge& judge) const override {
    std::vector<std::pair<std::string, Expr>> where;
    Program source = pattern_.program;
    if (unit == 1) {
      where.emplace_back(*source.shape(source.outputs()[0])[0].affine().asVariable(), 1);
      source = source.substitute({where.begin(), where.end()}).value();
    }
    auto program = viewed(source, unit);
    if (!program) return;
    const std::string name = this->name(unit);
    judge({name, Proposal{name, "axes", where, classOf(pattern_, where, *program), *program}});
  }

 private:
  /// The dimensions of an activation from number `begin` on, and the view of them: what is in front of the axis, what
  /// is behind it, the axis.
  static std::vector<AxisGroup> plain(const Shape& s) {
    std::vector<AxisGroup> groups;
    for (size_t d = 0; d < s.size(); ++d)
      groups.push_back({{fmt::format("a{}", d), s[d]}});
    return groups;
  }
  std::vector<AxisGroup> view(const Shape& s, size_t begin) const {
    std::vector<AxisGroup> groups(axis_ > begin ? 2 : 1);
    const std::vector<AxisGroup> all = plain(s);
    for (size_t d = begin; d < s.size(); ++d) {
      if (d != axis_) (d < axis_ ? groups.front() : groups.back()).push_back(all[d][0]);
    }
    groups.push_back(all[axis_]);
    return groups;
  }

  std::optional<Program> viewed(const Program& source, size_t begin) const {
    const std::vector<bool> constant = constantNodes(source);
    ProgramWriter form(source);
    std::map<Value, Value> now;
    for (int i = 0; i < static_cast<int>(source.nodes().size()) && form.ok(); ++i) {
      const Node& n = source.nodes()[static_cast<size_t>(i)];
      const bool isActivation = !constant[static_cast<size_t>(i)];
      if (n.is(ops::kInput)) {
        const Value x = form.find(n.names[0]);
        now[{i, 0}] = isActivation ? form.layout(x, plain(n.shapes[0]), view(n.shapes[0], begin)) : x;
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
    const Value y = form.layout(now.at(source.outputs()[0]), view(result, begin), plain(result));
    auto program = std::move(form).finish(y);
    return program ? std::optional(rewrite::inNormalForm(*program)) : std::nullopt;
  }

  /// A constant that varies along the axis alone: a vector.
  static Value alongLast(ProgramWriter& form, Value constant) {
    const std::vector<AxisGroup> groups = plain(form.shape(constant));
    AxisGroup all;
    for (const AxisGroup& g : groups)
      all.push_back(g[0]);
    return form.layout(constant, groups, {all});
  }

  const Pattern pattern_;
  const size_t axis_;
  bool hasSingle_;
};

}  // namespace

MadeGenerator wholeProgramGenerator(const Pattern& pattern) {
  const auto axis = axisOf(pattern.program);
  if (!axis) return tl::unexpected(std::string());
  return std::make_unique<WholeProgramGenerator>(pattern, *axis);
}

}  // namespace pet
