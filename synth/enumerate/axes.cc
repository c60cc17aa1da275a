#include "synth/enumerate/axes.h"

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
  if (inputs.size() != 2 || program.outputs().size() != 1) return unsupported("not one activation and one weight");
  int constantInput = program.node(inputs[0]).scalar("constant") == Expr(1) ? 0 : 1;
  m.x = inputs[static_cast<size_t>(1 - constantInput)];
  m.w = inputs[static_cast<size_t>(constantInput)];
  m.y = program.outputs()[0];
  NameSource names;
  auto denoted = denote(program, m.y, names);
  if (!denoted) return tl::unexpected(denoted.error());
  if (denoted->pieces.size() != 1 || !isProductOfBoth(denoted->pieces[0])) {
    return unsupported("not one product of an element of either input");
  }
  const Piece& piece = denoted->pieces[0];
  const auto& xAt = piece.factors[static_cast<size_t>(1 - constantInput)].at;
  const auto& wAt = piece.factors[static_cast<size_t>(constantInput)].at;
  FlatDigits xs = flatten(program.shape(m.x)), ws = flatten(program.shape(m.w)), ys = flatten(program.shape(m.y));

  std::vector<bool> usedX(xAt.size());
  auto place = [](const FlatDigits& flat, int i) { return i < 0 ? DigitPlace{} : flat.places[static_cast<size_t>(i)]; };
  std::vector<size_t> windows;  // output digits that occur in x in a sum only
  for (size_t v = 0; v < denoted->index.size(); ++v) {
    int inX = positionOf(xAt, denoted->index[v]), inW = positionOf(wAt, denoted->index[v]);
    if (inX < 0 && inW < 0) {
      windows.push_back(v);
      continue;
    }
    Axis axis;
    axis.kind = inX < 0 ? Axis::Kind::kOut : inW < 0 ? Axis::Kind::kEqual : Axis::Kind::kGroup;
    axis.name = axisName(ys.extents[v], v);
    axis.in = place(xs, inX);
    axis.weight = place(ws, inW);
    axis.out = ys.places[v];
    axis.outExtent = ys.extents[v];
    axis.inExtent = inX < 0 ? Expr(1) : xs.extents[static_cast<size_t>(inX)];
    if (inX >= 0) usedX[static_cast<size_t>(inX)] = true;
    m.axes.push_back(std::move(axis));
  }
  std::set<std::string> ownIndices;  // summation indices that are no digit of w
  for (const std::string& r : piece.reduction) {
    int inX = positionOf(xAt, r), inW = positionOf(wAt, r);
    if (inW < 0) {
      ownIndices.insert(r);
    } else if (inX >= 0) {
      Axis axis;
      axis.kind = Axis::Kind::kReduce;
      axis.name = axisName(xs.extents[static_cast<size_t>(inX)], m.axes.size());
      axis.in = place(xs, inX);
      axis.weight = place(ws, inW);
      axis.inExtent = axis.taps = xs.extents[static_cast<size_t>(inX)];
      usedX[static_cast<size_t>(inX)] = true;
      m.axes.push_back(std::move(axis));
    }
  }
  for (size_t i = 0; i < xAt.size(); ++i) {
    if (usedX[i]) continue;
    Expr relation = positionRelation(xAt[i], piece, ownIndices);
    auto mentioned = relation.variables();
    Axis axis;
    axis.kind = Axis::Kind::kWindow;
    axis.name = axisName(xs.extents[i], m.axes.size());
    axis.in = xs.places[i];
    axis.inExtent = xs.extents[i];
    std::map<std::string, Expr> rename;
    for (size_t v : windows) {
      if (!mentioned.contains(denoted->index[v])) continue;
      rename[denoted->index[v]] = Expr::variable("v");
      axis.out = ys.places[v];
      axis.outExtent = ys.extents[v];
    }
    for (size_t j = 0; j < wAt.size(); ++j) {
      auto r = wAt[j].asVariable();
      if (!r || !mentioned.contains(*r)) continue;
      rename[*r] = Expr::variable("r");
      axis.weight = ws.places[j];
      axis.taps = ws.extents[j];
    }
    if (rename.size() != 2) return unsupported("a position that is no window over one output axis and one tap");
    axis.relation = relation.substitute(rename);
    if (axis.relation.coefficient("x") < 0) axis.relation = -axis.relation;
    if (axis.taps == Expr(1) && axis.relation.substitute({{"r", 0}}) == Expr::variable("x") - Expr::variable("v")) {
      axis.kind = Axis::Kind::kEqual;  // a pointwise operator does not slide
      axis.weight = {};
    }
    m.axes.push_back(std::move(axis));
  }
  std::stable_sort(m.axes.begin(), m.axes.end(), [](const Axis& a, const Axis& b) {
    return std::pair(a.kind, a.in.dim) < std::pair(b.kind, b.in.dim);
  });
  return m;
}

}  // namespace pet
