#include "synth/propose/templates/copied_boxes.h"

#include <map>
#include <set>

#include "ir/denote.h"

namespace pet {
namespace {

constexpr int64_t kMostParts = 64;

using Part = CopiedBoxes::Part;
using Range = CopiedBoxes::Range;

class BoxReader {
 public:
  BoxReader(const Program& program, const Bindings& typical)
      : program_(program), typical_(typical), shape_(program.shape(program.outputs()[0])) {}

  std::optional<CopiedBoxes> read() {
    NameSource names;
    auto meaning = denote(program_, program_.outputs()[0], names);
    if (!meaning || !enter(*meaning) || !unroll()) return std::nullopt;
    return std::move(boxes_);
  }

 private:
  bool enter(const Denotation& meaning);
  void narrow(const Constraint& c, std::vector<Range>& box) const;
  std::set<size_t> mixedDigits() const;
  bool unroll();
  void unrollIn(const Part& part, size_t slot, Part so, std::vector<Part>& into) const;
  int64_t number(const Expr& e) const { return e.evaluate(typical_).value(); }

  const Program& program_;
  const Bindings& typical_;
  const Shape shape_;
  CopiedBoxes boxes_;
};

/// Narrows the range of the digit that a constraint bounds, going by the typical shape. What others leave out is seen
/// in the proof.
void BoxReader::narrow(const Constraint& c, std::vector<Range>& box) const {
  std::optional<size_t> digit;
  for (size_t i = 0; i < boxes_.index.size(); ++i) {
    if (!c.expr.mentions(boxes_.index[i])) continue;
    if (digit) return;
    digit = i;
  }
  const int64_t coefficient = digit ? c.expr.coefficient(boxes_.index[*digit]) : 0;
  if (coefficient != 1 && coefficient != -1) return;
  const Expr rest = c.expr - Expr::variable(boxes_.index[*digit]) * coefficient;
  if (rest.mentions(boxes_.index[*digit])) return;
  const Expr at = rest * -coefficient;
  Range& range = box[*digit];
  const bool isEqual = c.kind == Constraint::Kind::kZero;
  if ((isEqual || coefficient == 1) && number(at) > number(range.begin)) range.begin = at;
  if ((isEqual || coefficient == -1) && number(at) + 1 < number(range.end)) range.end = at + 1;
}

/// The pieces of the result as parts.
bool BoxReader::enter(const Denotation& meaning) {
  boxes_.index = meaning.index;
  std::vector<Range> whole;
  for (const Dim& d : shape_) {
    for (const Expr& atom : d.atoms()) {
      boxes_.extents.push_back(atom);
      whole.push_back({0, atom});
    }
  }
  if (boxes_.extents.size() != boxes_.index.size()) return false;
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
    boxes_.parts.push_back(std::move(part));
  }
  return !boxes_.parts.empty();
}

/// Digits whose positions are parts of their own: all but one of those that count up one dimension of an input.
std::set<size_t> BoxReader::mixedDigits() const {
  std::set<size_t> mixed;
  for (const Part& part : boxes_.parts) {
    for (const Expr& read : part.reads) {
      std::vector<size_t> symbolic, constant;
      for (size_t i = 0; i < boxes_.index.size(); ++i) {
        if (read.mentions(boxes_.index[i]) && !mixed.contains(i))
          (boxes_.extents[i].isConstant() ? constant : symbolic).push_back(i);
      }
      if (symbolic.empty() && !constant.empty()) constant.pop_back();
      mixed.insert(constant.begin(), constant.end());
    }
  }
  return mixed;
}

bool BoxReader::unroll() {
  const std::set<size_t> mixed = mixedDigits();
  int64_t count = static_cast<int64_t>(boxes_.parts.size());
  for (size_t i = 0; i < boxes_.index.size(); ++i) {
    const bool isUnrolled = mixed.contains(i);
    if (isUnrolled) count = checkedMul(count, boxes_.extents[i].constant());
    if (isUnrolled && !boxes_.slots.empty() && boxes_.slots.back().isUnrolled) {
      boxes_.slots.back().digits.push_back(i);
      boxes_.slots.back().extent = Dim::product({boxes_.slots.back().extent, boxes_.extents[i]});
    } else {
      boxes_.slots.push_back({{i}, boxes_.extents[i], isUnrolled});
    }
  }
  if (count > kMostParts) return false;
  std::vector<Part> parts;
  for (const Part& part : boxes_.parts)
    unrollIn(part, 0, {{}, part.input, part.reads}, parts);
  boxes_.parts = std::move(parts);
  return true;
}

/// The part at every position of the unrolled digits, from a slot on.
void BoxReader::unrollIn(const Part& part, size_t slot, Part so, std::vector<Part>& into) const {
  if (slot == boxes_.slots.size()) {
    into.push_back(std::move(so));
    return;
  }
  const std::vector<size_t>& digits = boxes_.slots[slot].digits;
  if (!boxes_.slots[slot].isUnrolled) {
    so.box.push_back(part.box[digits[0]]);
    return unrollIn(part, slot + 1, std::move(so), into);
  }
  for (int64_t place = 0; place < boxes_.slots[slot].extent.asConstant().value(); ++place) {
    Part at = so;
    at.box.push_back({place, place + 1});
    std::map<std::string, Expr> by;
    bool isInside = true;
    int64_t rest = place;
    for (size_t k = digits.size(); k-- > 0; rest /= boxes_.extents[digits[k]].constant()) {
      const int64_t digit = rest % boxes_.extents[digits[k]].constant();
      const Range& range = part.box[digits[k]];
      isInside = isInside && number(range.begin) <= digit && digit < number(range.end);
      by.emplace(boxes_.index[digits[k]], digit);
    }
    for (Expr& read : at.reads)
      read = read.substitute(by);
    if (isInside) unrollIn(part, slot + 1, std::move(at), into);
  }
}

}  // namespace

std::optional<CopiedBoxes> copiedBoxes(const Program& program, const Bindings& typical) {
  return BoxReader(program, typical).read();
}

}  // namespace pet
