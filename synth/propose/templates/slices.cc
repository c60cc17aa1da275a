#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "ir/ops/op.h"
#include "synth/analysis/typical_shape.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

constexpr int64_t kMostParts = 64;

/// Positions begin … end - 1 of one digit of the result, or of several that are counted as one.
struct Range {
  Expr begin, end;
  friend bool operator==(const Range&, const Range&) = default;
};

/// A box of the result that is copied from an input.
struct Part {
  std::vector<Range> box;
  int input = 0;
  std::vector<Expr> reads;  ///< per dimension of the input, in the digits of the result
};

/// The result's digits, one dimension each; those of which each position is a part of its own are one where they are
/// neighbours.
struct Slot {
  std::vector<size_t> digits;
  Dim extent;
  bool isUnrolled = false;
};

class Slices {
 public:
  Slices(const Pattern& pattern, const Bindings& typical)
      : program_(pattern.program), typical_(typical), shape_(program_.shape(program_.outputs()[0])) {}

  /// Nullopt: the program does not copy boxes, or there is nothing to cut.
  std::optional<Program> run() {
    NameSource names;
    auto meaning = denote(program_, program_.outputs()[0], names);
    if (!meaning || !enter(*meaning) || !unroll()) return std::nullopt;
    ProgramWriter form(program_);
    std::vector<Range> whole;
    for (const Slot& slot : slots_)
      whole.push_back({0, slot.isUnrolled ? *slot.extent.asConstant() : slot.extent.affine()});
    const auto result = joined(form, parts_, std::move(whole));
    if (!result || !cuts_) return std::nullopt;
    auto program = std::move(form).finish(inResultShape(form, *result));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

 private:
  bool enter(const Denotation& meaning);
  void narrow(const Constraint& c, std::vector<Range>& box) const;
  std::set<size_t> mixedDigits() const;
  bool unroll();
  void unrollIn(const Part& part, size_t slot, Part so, std::vector<Part>& into) const;
  std::vector<Range> chain(const std::vector<Part>& parts, size_t slot, const Range& whole) const;
  std::optional<Value> joined(ProgramWriter& form, const std::vector<Part>& parts, std::vector<Range> box);
  std::optional<Value> copied(ProgramWriter& form, const Part& part);
  Value inResultShape(ProgramWriter& form, Value result) const;
  int64_t number(const Expr& e) const { return e.evaluate(typical_).value(); }

  const Program& program_;
  const Bindings& typical_;
  const Shape shape_;
  std::vector<std::string> index_;
  std::vector<Expr> extents_;  ///< per digit
  std::vector<Slot> slots_;
  std::vector<Part> parts_;
  bool cuts_ = false;
};

/// Narrows the range of the digit that a constraint bounds, going by the typical shape. What others leave out is seen
/// in the proof.
void Slices::narrow(const Constraint& c, std::vector<Range>& box) const {
  std::optional<size_t> digit;
  for (size_t i = 0; i < index_.size(); ++i) {
    if (!c.expr.mentions(index_[i])) continue;
    if (digit) return;
    digit = i;
  }
  const int64_t coefficient = digit ? c.expr.coefficient(index_[*digit]) : 0;
  if (coefficient != 1 && coefficient != -1) return;
  const Expr rest = c.expr - Expr::variable(index_[*digit]) * coefficient;
  if (rest.mentions(index_[*digit])) return;
  const Expr at = rest * -coefficient;
  Range& range = box[*digit];
  const bool isEqual = c.kind == Constraint::Kind::kZero;
  if ((isEqual || coefficient == 1) && number(at) > number(range.begin)) range.begin = at;
  if ((isEqual || coefficient == -1) && number(at) + 1 < number(range.end)) range.end = at + 1;
}

/// The pieces of the result as parts.
bool Slices::enter(const Denotation& meaning) {
  index_ = meaning.index;
  std::vector<Range> whole;
  for (const Dim& d : shape_) {
    for (const Expr& atom : d.atoms()) {
      extents_.push_back(atom);
      whole.push_back({0, atom});
    }
  }
  if (extents_.size() != index_.size()) return false;
  for (const Piece& piece : meaning.pieces) {
    const bool copies = piece.coefficient == Rational{1, 1} && piece.reduction.empty() && piece.factors.size() == 1 &&
                        piece.factors[0].kind == Factor::Kind::kInput;
    if (!copies) return false;
    Part part{whole, piece.factors[0].number, piece.factors[0].at};
    const Shape& input = program_.shape(program_.inputs()[static_cast<size_t>(part.input)]);
    if (part.reads.size() != input.size()) return false;  // a dimension of several digits
    for (const Constraint& c : piece.domain)
      narrow(c, part.box);
    for (const Expr& read : part.reads) {
      if (read.hasDivision()) return false;
    }
    parts_.push_back(std::move(part));
  }
  return !parts_.empty();
}

/// Digits whose positions are parts of their own: all but one of those that count up one dimension of an input.
std::set<size_t> Slices::mixedDigits() const {
  std::set<size_t> mixed;
  for (const Part& part : parts_) {
    for (const Expr& read : part.reads) {
      std::vector<size_t> symbolic, constant;
      for (size_t i = 0; i < index_.size(); ++i) {
        if (read.mentions(index_[i]) && !mixed.contains(i))
          (extents_[i].isConstant() ? constant : symbolic).push_back(i);
      }
      if (symbolic.empty() && !constant.empty()) constant.pop_back();
      mixed.insert(constant.begin(), constant.end());
    }
  }
  return mixed;
}

bool Slices::unroll() {
  const std::set<size_t> mixed = mixedDigits();
  int64_t count = static_cast<int64_t>(parts_.size());
  for (size_t i = 0; i < index_.size(); ++i) {
    const bool isUnrolled = mixed.contains(i);
    if (isUnrolled) count = checkedMul(count, extents_[i].constant());
    if (isUnrolled && !slots_.empty() && slots_.back().isUnrolled) {
      slots_.back().digits.push_back(i);
      slots_.back().extent = Dim::product({slots_.back().extent, extents_[i]});
    } else {
      slots_.push_back({{i}, extents_[i], isUnrolled});
    }
  }
  if (count > kMostParts) return false;
  std::vector<Part> parts;
  for (const Part& part : parts_)
    unrollIn(part, 0, {{}, part.input, part.reads}, parts);
  parts_ = std::move(parts);
  return true;
}

/// The part at every position of the unrolled digits, from a slot on.
void Slices::unrollIn(const Part& part, size_t slot, Part so, std::vector<Part>& into) const {
  if (slot == slots_.size()) {
    into.push_back(std::move(so));
    return;
  }
  const std::vector<size_t>& digits = slots_[slot].digits;
  if (!slots_[slot].isUnrolled) {
    so.box.push_back(part.box[digits[0]]);
    return unrollIn(part, slot + 1, std::move(so), into);
  }
  for (int64_t place = 0; place < slots_[slot].extent.asConstant().value(); ++place) {
    Part at = so;
    at.box.push_back({place, place + 1});
    std::map<std::string, Expr> by;
    bool isInside = true;
    int64_t rest = place;
    for (size_t k = digits.size(); k-- > 0; rest /= extents_[digits[k]].constant()) {
      const int64_t digit = rest % extents_[digits[k]].constant();
      const Range& range = part.box[digits[k]];
      isInside = isInside && number(range.begin) <= digit && digit < number(range.end);
      by.emplace(index_[digits[k]], digit);
    }
    for (Expr& read : at.reads)
      read = read.substitute(by);
    if (isInside) unrollIn(part, slot + 1, std::move(at), into);
  }
}

/// The ranges of the parts along a slot, one behind the other, where they make up the whole; else none.
std::vector<Range> Slices::chain(const std::vector<Part>& parts, size_t slot, const Range& whole) const {
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
std::optional<Value> Slices::joined(ProgramWriter& form, const std::vector<Part>& parts, std::vector<Range> box) {
  if (parts.size() == 1) return parts[0].box == box ? copied(form, parts[0]) : std::nullopt;
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
      auto piece = joined(form, within, box);
      if (!piece) return std::nullopt;
      pieces.push_back(*piece);
    }
    return form.concat(std::move(pieces), slot);
  }
  return std::nullopt;
}

/// A Slice of the input, its dimensions in the order of the slots.
std::optional<Value> Slices::copied(ProgramWriter& form, const Part& part) {
  const Value input = program_.inputs()[static_cast<size_t>(part.input)];
  Value x = form.find(program_.name(input));
  std::vector<Expr> axes, starts, ends, steps;
  std::vector<AxisGroup> from, to(slots_.size());
  for (size_t d = 0; d < part.reads.size(); ++d) {
    Expr start = part.reads[d], count = 1;
    int64_t step = 1;
    from.emplace_back();
    for (size_t s = 0; s < slots_.size(); ++s) {
      const std::string& digit = index_[slots_[s].digits[0]];
      if (slots_[s].isUnrolled || !part.reads[d].mentions(digit)) continue;
      if (!from.back().empty() || !to[s].empty()) return std::nullopt;  // a diagonal
      step = part.reads[d].coefficient(digit);
      start = part.reads[d].substitute({{digit, part.box[s].begin}});
      count = part.box[s].end - part.box[s].begin;
      from.back().push_back({digit, count});
      to[s] = from.back();
    }
    if (step < 1) return std::nullopt;
    const Expr end = start + (count - 1) * step + 1;
    if (step == 1 && start == Expr(0) && Dim(end) == form.shape(x)[d]) continue;
    axes.emplace_back(static_cast<int64_t>(d));
    starts.push_back(start);
    ends.push_back(end);
    steps.emplace_back(step);
  }
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (to[s].empty() && !slots_[s].isUnrolled && slots_[s].extent != Dim(1)) return std::nullopt;  // repeated
  }
  if (!axes.empty()) {
    cuts_ = true;
    x = form.add(ops::kSlice.text, {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
  }
  return from == to ? x : form.layout(x, from, to);
}

/// Of one dimension per slot.
Value Slices::inResultShape(ProgramWriter& form, Value result) const {
  if (!form.ok() || form.shape(result) == shape_) return result;
  std::vector<AxisGroup> from, to;
  for (const Slot& slot : slots_) {
    from.emplace_back();
    for (size_t digit : slot.digits)
      from.back().push_back({index_[digit], extents_[digit]});
  }
  size_t digit = 0;
  for (const Dim& d : shape_) {
    to.emplace_back();
    for (size_t k = 0; k < d.atoms().size(); ++k, ++digit)
      to.back().push_back({index_[digit], extents_[digit]});
  }
  return form.layout(result, from, to);
}

}  // namespace

std::vector<Template> sliceTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  const bool onlyMoves = std::all_of(p.nodes().begin(), p.nodes().end(), [](const Node& n) {
    return n.is(ops::kInput) ? n.scalar("constant") != Expr(1) : n.op->layout;
  });
  if (!onlyMoves || p.outputs().size() != 1) return {};
  poly::Context context(pattern.shapes);
  constexpr int64_t kExtent = 17;
  const auto typical = typicalShape(context, p, kExtent);
  if (!typical) return {};
  auto program = Slices(pattern, *typical).run();
  if (!program) return {};
  return {{"slices", "slices", {}, classOf(pattern, {}, *program), *program}};
}

}  // namespace pet
