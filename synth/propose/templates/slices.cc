#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/analysis/typical_shape.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/copied_boxes.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

using Part = CopiedBoxes::Part;
using Range = CopiedBoxes::Range;

/// Writes a result that copies boxes as Slices, joined by Concat.
class BoxWriter {
 public:
  BoxWriter(const Program& program, const Bindings& typical, const CopiedBoxes& boxes)
      : program_(program), typical_(typical), boxes_(boxes), form_(program) {}

  /// Nullopt: there is nothing to cut, or no cut spares all boxes.
  std::optional<Program> write() {
    std::vector<Range> whole;
    for (const CopiedBoxes::Slot& slot : boxes_.slots)
      whole.push_back({0, slot.isUnrolled ? *slot.extent.asConstant() : slot.extent.affine()});
    const auto result = joined(boxes_.parts, std::move(whole));
    if (!result || !cuts_) return std::nullopt;
    auto program = std::move(form_).finish(inResultShape(*result));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

 private:
  std::vector<Range> chain(const std::vector<Part>& parts, size_t slot, const Range& whole) const;
  std::optional<Value> joined(const std::vector<Part>& parts, std::vector<Range> box);
  std::optional<Value> copied(const Part& part);
  Value inResultShape(Value result);
  int64_t number(const Expr& e) const { return e.evaluate(typical_).value(); }

  const Program& program_;
  const Bindings& typical_;
  const CopiedBoxes& boxes_;
  ProgramWriter form_;
  bool cuts_ = false;
};

/// The ranges of the parts along a slot, one behind the other, where they make up the whole; else none.
std::vector<Range> BoxWriter::chain(const std::vector<Part>& parts, size_t slot, const Range& whole) const {
  std::vector<Range> ranges;
  for (const Part& part : parts) {
    if (std::find(ranges.begin(), ranges.end(), part.box[slot]) == ranges.end()) ranges.push_back(part.box[slot]);
  }
  std::sort(ranges.begin(), ranges.end(),
            [&](const Range& a, const Range& b) { return number(a.begin) < number(b.begin); });
  Expr reached = whole.begin;
  for (const Range& range : ranges) {
    if (range.begin != reached) return {};
    reached = range.end;
  }
  return reached == whole.end ? ranges : std::vector<Range>();
}

/// The box, cut along one dimension after the other until each piece is one part; nullopt where no cut spares all
/// parts.
std::optional<Value> BoxWriter::joined(const std::vector<Part>& parts, std::vector<Range> box) {
  if (parts.size() == 1) return parts[0].box == box ? copied(parts[0]) : std::nullopt;
  for (size_t slot = 0; slot < box.size(); ++slot) {
    const std::vector<Range> ranges = chain(parts, slot, box[slot]);
    if (ranges.size() < 2) continue;
    cuts_ = true;
    std::vector<Value> pieces;
    for (const Range& range : ranges) {
      std::vector<Part> within;
      std::copy_if(parts.begin(), parts.end(), std::back_inserter(within),
                   [&](const Part& part) { return part.box[slot] == range; });
      box[slot] = range;
      auto piece = joined(within, box);
      if (!piece) return std::nullopt;
      pieces.push_back(*piece);
    }
    return form_.concat(std::move(pieces), slot);
  }
  return std::nullopt;
}

/// A Slice of the input, its dimensions in the order of the slots.
std::optional<Value> BoxWriter::copied(const Part& part) {
  const Value input = program_.inputs()[static_cast<size_t>(part.input)];
  Value x = form_.find(program_.name(input));
  std::vector<Expr> axes, starts, ends, steps;
  std::vector<AxisGroup> from, to(boxes_.slots.size());
  for (size_t d = 0; d < part.reads.size(); ++d) {
    Expr start = part.reads[d], count = 1;
    int64_t step = 1;
    from.emplace_back();
    for (size_t s = 0; s < boxes_.slots.size(); ++s) {
      const std::string& digit = boxes_.index[boxes_.slots[s].digits[0]];
      if (boxes_.slots[s].isUnrolled || !part.reads[d].mentions(digit)) continue;
      if (!from.back().empty() || !to[s].empty()) return std::nullopt;  // a diagonal
      step = part.reads[d].coefficient(digit);
      start = part.reads[d].substitute({{digit, part.box[s].begin}});
      count = part.box[s].end - part.box[s].begin;
      from.back().push_back({digit, count});
      to[s] = from.back();
    }
    if (step < 1) return std::nullopt;
    const Expr end = start + (count - 1) * step + 1;
    if (step == 1 && start == Expr(0) && Dim(end) == form_.shape(x)[d]) continue;
    axes.emplace_back(static_cast<int64_t>(d));
    starts.push_back(start);
    ends.push_back(end);
    steps.emplace_back(step);
  }
  for (size_t s = 0; s < boxes_.slots.size(); ++s) {
    if (to[s].empty() && !boxes_.slots[s].isUnrolled && boxes_.slots[s].extent != Dim(1))
      return std::nullopt;  // repeated
  }
  if (!axes.empty()) {
    cuts_ = true;
    x = form_.add(ops::kSlice.text, {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
  }
  return from == to ? x : form_.layout(x, from, to);
}

/// Of one dimension per slot.
Value BoxWriter::inResultShape(Value result) {
  const Shape& shape = program_.shape(program_.outputs()[0]);
  if (!form_.ok() || form_.shape(result) == shape) return result;
  std::vector<AxisGroup> from, to;
  for (const CopiedBoxes::Slot& slot : boxes_.slots) {
    from.emplace_back();
    for (size_t digit : slot.digits)
      from.back().push_back({boxes_.index[digit], boxes_.extents[digit]});
  }
  size_t digit = 0;
  for (const Dim& d : shape) {
    to.emplace_back();
    for (size_t k = 0; k < d.atoms().size(); ++k, ++digit)
      to.back().push_back({boxes_.index[digit], boxes_.extents[digit]});
  }
  return form_.layout(result, from, to);
}

}  // namespace

std::vector<Template> sliceTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const bool onlyMoves = std::all_of(p.nodes().begin(), p.nodes().end(), [](const Node& n) {
    return n.is(ops::kInput) ? n.scalar("constant") != Expr(1) : n.op->layout;
  });
  const bool areSlices = std::all_of(p.nodes().begin(), p.nodes().end(), [](const Node& n) {
    return n.is(ops::kInput) || n.is(ops::kSlice) || n.is(ops::kConcat);
  });
  if (!onlyMoves || areSlices || p.outputs().size() != 1) return {};
  poly::Context context(pattern.shapes);
  constexpr int64_t kExtent = 17;
  const auto typical = typicalShape(context, p, kExtent);
  if (!typical) return {};
  const auto boxes = copiedBoxes(p, *typical);
  auto program = boxes ? BoxWriter(p, *typical, *boxes).write() : std::nullopt;
  if (!program) return {};
  return {{"slices", "slices", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
