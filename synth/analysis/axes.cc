#include "synth/analysis/axes.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/denote.h"

namespace pet {
namespace {

tl::unexpected<Error> unsupported(std::string what) {
  return fail(ErrorKind::kUnsupported, std::move(what));
}

/// "h" for the extent H or 2H, else a letter by position.
std::string axisName(const Expr& extent, size_t position) {
  auto variables = extent.variables();
  std::string name = variables.size() == 1 ? *variables.begin() : std::string("a") + std::to_string(position);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

struct FlatDigits {
  std::vector<DigitPlace> places;
  std::vector<Expr> extents;
};

FlatDigits flatten(const Shape& shape) {
  FlatDigits flat;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (size_t a = 0; a < shape[d].atoms().size(); ++a) {
      flat.places.push_back({static_cast<int>(d), static_cast<int>(a)});
      flat.extents.push_back(shape[d].atoms()[a]);
    }
  }
  return flat;
}

int positionOf(const std::vector<Expr>& digits, const std::string& variable) {
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i].asVariable() == variable) return static_cast<int>(i);
  }
  return -1;
}

/// The linear equation between v, r and the position in x that a digit of x states: x = digit, or, where the digit is a
/// summation index of its own, the equality that defines it.
Expr positionRelation(const Expr& digit, const Piece& piece, const std::set<std::string>& ownIndices) {
  auto variable = digit.asVariable();
  if (variable && ownIndices.contains(*variable)) {
    for (const Constraint& c : piece.domain) {
      if (c.kind == Constraint::Kind::kZero && c.expr.mentions(*variable)) {
        return c.expr.substitute({{*variable, Expr::variable("x")}});
      }
    }
  }
  return digit - Expr::variable("x");
}

/// x[…] · w[…], without a coefficient, a function or a constant.
bool isProductOfBoth(const Piece& piece) {
  return piece.coefficient == Rational{1, 1} && piece.factors.size() == 2 &&
         std::all_of(piece.factors.begin(), piece.factors.end(),
                     [](const Factor& f) { return f.kind == Factor::Kind::kInput; }) &&
         piece.factors[0].number != piece.factors[1].number;
}

/// Reads the axes of y[v] = Σ x[…] · w[…] off its one piece.
class AxisReader {
 public:
  AxisReader(const MainOperator& op, const Denotation& denoted, bool weightFirst)
      : denoted_(denoted),
        piece_(denoted.pieces[0]),
        xAt_(piece_.factors[weightFirst ? 1 : 0].at),
        wAt_(piece_.factors[weightFirst ? 0 : 1].at),
        xs_(flatten(op.program.shape(op.x))),
        ws_(flatten(op.program.shape(op.w))),
        ys_(flatten(op.program.shape(op.y))),
        usedX_(xAt_.size()) {}

  Expected<std::vector<Axis>> run() {
    outputAxes();
    reducedAxes();
    for (size_t i = 0; i < xAt_.size(); ++i) {
      if (usedX_[i]) continue;
      auto axis = windowAxis(i);
      if (!axis) return tl::unexpected(axis.error());
      axes_.push_back(std::move(*axis));
    }
    std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) {
      return std::pair(a.kind, a.in.dim) < std::pair(b.kind, b.in.dim);
    });
    return std::move(axes_);
  }

 private:
  static DigitPlace place(const FlatDigits& flat, int i) {
    return i < 0 ? DigitPlace{} : flat.places[static_cast<size_t>(i)];
  }

  /// The digits of y that are a digit of x or w; the others occur in sums alone.
  void outputAxes() {
    for (size_t v = 0; v < denoted_.index.size(); ++v) {
      int inX = positionOf(xAt_, denoted_.index[v]), inW = positionOf(wAt_, denoted_.index[v]);
      if (inX < 0 && inW < 0) {
        windows_.push_back(v);
        continue;
      }
      Axis axis;
      axis.kind = inX < 0 ? Axis::Kind::kOut : inW < 0 ? Axis::Kind::kEqual : Axis::Kind::kGroup;
      axis.name = axisName(ys_.extents[v], v);
      axis.in = place(xs_, inX);
      axis.weight = place(ws_, inW);
      axis.out = ys_.places[v];
      axis.outExtent = ys_.extents[v];
      axis.inExtent = inX < 0 ? Expr(1) : xs_.extents[static_cast<size_t>(inX)];
      if (inX >= 0) usedX_[static_cast<size_t>(inX)] = true;
      axes_.push_back(std::move(axis));
    }
  }

  void reducedAxes() {
    for (const std::string& r : piece_.reduction) {
      int inX = positionOf(xAt_, r), inW = positionOf(wAt_, r);
      if (inW < 0) ownIndices_.insert(r);
      if (inW < 0 || inX < 0) continue;
      Axis axis;
      axis.kind = Axis::Kind::kReduce;
      axis.name = axisName(xs_.extents[static_cast<size_t>(inX)], axes_.size());
      axis.in = place(xs_, inX);
      axis.weight = place(ws_, inW);
      axis.inExtent = axis.taps = xs_.extents[static_cast<size_t>(inX)];
      usedX_[static_cast<size_t>(inX)] = true;
      axes_.push_back(std::move(axis));
    }
  }

  /// The axis of a digit of x that is linked with one output digit and one tap.
  Expected<Axis> windowAxis(size_t i) {
    Expr relation = positionRelation(xAt_[i], piece_, ownIndices_);
    auto mentioned = relation.variables();
    Axis axis;
    axis.kind = Axis::Kind::kWindow;
    axis.name = axisName(xs_.extents[i], axes_.size());
    axis.in = xs_.places[i];
    axis.inExtent = xs_.extents[i];
    std::map<std::string, Expr> rename;
    for (size_t v : windows_) {
      if (!mentioned.contains(denoted_.index[v])) continue;
      rename[denoted_.index[v]] = Expr::variable("v");
      axis.out = ys_.places[v];
      axis.outExtent = ys_.extents[v];
    }
    for (size_t j = 0; j < wAt_.size(); ++j) {
      auto r = wAt_[j].asVariable();
      if (!r || !mentioned.contains(*r)) continue;
      rename[*r] = Expr::variable("r");
      axis.weight = ws_.places[j];
      axis.taps = ws_.extents[j];
    }
    if (rename.size() != 2) return unsupported("a position that is no window over one output axis and one tap");
    axis.relation = relation.substitute(rename);
    if (axis.relation.coefficient("x") < 0) axis.relation = -axis.relation;
    if (axis.taps == Expr(1) && axis.relation.substitute({{"r", 0}}) == Expr::variable("x") - Expr::variable("v")) {
      axis.kind = Axis::Kind::kEqual;  // a pointwise operator does not slide
      axis.weight = {};
    }
    return axis;
  }

  const Denotation& denoted_;
  const Piece& piece_;
  const std::vector<Expr>&xAt_, &wAt_;
  const FlatDigits xs_, ws_, ys_;
  std::vector<bool> usedX_;
  std::vector<size_t> windows_;       ///< output digits that occur in x in a sum only
  std::set<std::string> ownIndices_;  ///< summation indices that are no digit of w
  std::vector<Axis> axes_;
};

}  // namespace

const Axis* MainOperator::find(std::string_view name) const {
  auto it = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
  return it == axes.end() ? nullptr : &*it;
}

std::vector<const Axis*> MainOperator::ofKind(Axis::Kind kind) const {
  std::vector<const Axis*> result;
  for (const Axis& a : axes) {
    if (a.kind == kind) result.push_back(&a);
  }
  return result;
}

Expected<MainOperator> analyse(const Program& program) {
  MainOperator m{program, {}, {}, {}, {}};
  auto inputs = program.inputs();
  const auto weights = std::count_if(inputs.begin(), inputs.end(), [&](Value v) { return isConstant(program, v); });
  if (inputs.size() != 2 || weights != 1 || program.outputs().size() != 1)
    return unsupported("not one activation and one weight");
  int constantInput = isConstant(program, inputs[0]) ? 0 : 1;
  m.x = inputs[static_cast<size_t>(1 - constantInput)];
  m.w = inputs[static_cast<size_t>(constantInput)];
  m.y = program.outputs()[0];
  NameSource names;
  auto denoted = denote(program, m.y, names);
  if (!denoted) return tl::unexpected(denoted.error());
  if (denoted->pieces.size() != 1 || !isProductOfBoth(denoted->pieces[0])) {
    return unsupported("not one product of an element of either input");
  }
  auto axes = AxisReader(m, *denoted, constantInput == 0).run();
  if (!axes) return tl::unexpected(axes.error());
  m.axes = std::move(*axes);
  return m;
}

}  // namespace pet
