#include "ir/ops/common.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet {

Expected<size_t> axisOf(const Expr& axis, size_t rank, std::string_view op) {
  auto a = axis.asConstant();
  if (!a || *a < 0 || *a >= static_cast<int64_t>(rank)) {
    return fail(ErrorKind::kText, fmt::format("{}: axis {} of a tensor of rank {}", op, axis.str(), rank));
  }
  return static_cast<size_t>(*a);
}

Expected<std::vector<bool>> axesOf(const std::vector<Expr>& axes, size_t rank, std::string_view op) {
  std::vector<bool> chosen(rank);
  for (const Expr& e : axes) {
    auto axis = axisOf(e, rank, op);
    if (!axis) return tl::unexpected(axis.error());
    if (chosen[*axis]) return fail(ErrorKind::kText, fmt::format("{}: axis {} occurs twice", op, *axis));
    chosen[*axis] = true;
  }
  return chosen;
}

Expected<Shape> broadcastShapes(std::span<const Shape> shapes, std::string_view op) {
  Shape out;
  for (const Shape& s : shapes) {
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), Dim(1));
    for (size_t d = 0; d < s.size(); ++d) {
      Dim& to = out[out.size() - s.size() + d];
      if (to == Dim(1)) to = s[d];
      if (s[d] != to && s[d] != Dim(1)) {
        return fail(ErrorKind::kText, fmt::format("{} of {} and {}: {} and {} do not broadcast", op, str(shapes[0]),
                                                  str(s), to.str(), s[d].str()));
      }
    }
  }
  return out;
}

Index broadcastIndex(const Shape& operand, const Index& at) {
  Index index;
  size_t skipped = at.size() - operand.size();
  for (size_t d = 0; d < operand.size(); ++d) {
    index.push_back(operand[d] == Dim(1) ? std::vector<Expr>{0} : at[skipped + d]);
  }
  return index;
}

std::vector<Expr> freshDigits(const Dim& dim, std::string_view stem, NameSource& names, AccessPiece& piece) {
  std::vector<Expr> digits;
  for (const Expr& atom : dim.atoms()) {
    std::string name = names.fresh(stem);
    digits.push_back(Expr::variable(name));
    piece.reduction.push_back(name);
    piece.domain.push_back(Constraint::le(0, digits.back()));
    piece.domain.push_back(Constraint::lt(digits.back(), atom));
  }
  return digits;
}

namespace {

std::vector<Dim> extentsOf(const LayoutSpec& spec, const std::vector<int>& group) {
  std::vector<Dim> dims;
  dims.reserve(group.size());
  for (int axis : group)
    dims.push_back(spec.axes[static_cast<size_t>(axis)].extent);
  return dims;
}

Shape shapeOf(const LayoutSpec& spec, const std::vector<std::vector<int>>& side) {
  Shape shape;
  for (const auto& group : side)
    shape.push_back(Dim::product(extentsOf(spec, group)));
  return shape;
}

}  // namespace

Shape leftShape(const LayoutSpec& spec) {
  return shapeOf(spec, spec.left);
}
Shape rightShape(const LayoutSpec& spec) {
  return shapeOf(spec, spec.right);
}

std::vector<DigitCase> layoutSources(const LayoutSpec& spec, const Index& at) {
  // The digits of each axis; one that stands on the left only has extent 1.
  std::vector<DigitCase> byAxis{{Index(spec.axes.size(), {Expr(0)}), {}}};
  for (size_t d = 0; d < spec.right.size(); ++d) {
    const auto& group = spec.right[d];
    byAxis = combine(byAxis, splitDigits(extentsOf(spec, group), at[d]), [&](Index& axes, const Index& digits) {
      for (size_t i = 0; i < group.size(); ++i)
        axes[static_cast<size_t>(group[i])] = digits[i];
    });
  }
  std::vector<DigitCase> result;
  for (const DigitCase& c : byAxis) {
    std::vector<DigitCase> reads{{{}, c.guards}};
    for (const auto& group : spec.left) {
      Index digits;
      for (int axis : group)
        digits.push_back(c.digits[static_cast<size_t>(axis)]);
      reads = combine(reads, joinDigits(extentsOf(spec, group), digits),
                      [](Index& read, const Index& joined) { read.push_back(joined[0]); });
    }
    std::move(reads.begin(), reads.end(), std::back_inserter(result));
    requireFewCases(result.size(), 1);
  }
  return result;
}

std::vector<AccessPiece> readsOf(std::vector<DigitCase> cases) {
  std::vector<AccessPiece> pieces;
  pieces.reserve(cases.size());
  for (DigitCase& c : cases)
    pieces.push_back({.domain = std::move(c.guards), .reads = {{0, std::move(c.digits)}}});
  return pieces;
}

Expected<std::vector<Shape>> inferSame(const OpView& v) {
  return std::vector<Shape>{v.operands[0]};
}

std::optional<Dim> withoutInner(const Dim& all, const std::vector<Expr>& inner) {
  const auto& atoms = all.atoms();
  for (size_t keep = 0; keep <= atoms.size(); ++keep) {
    std::vector<Dim> factors(atoms.begin(), atoms.begin() + static_cast<std::ptrdiff_t>(keep));
    Dim f = factors.empty() ? Dim(1) : Dim::product(factors);
    std::vector<Dim> product{f};
    product.insert(product.end(), inner.begin(), inner.end());
    if (Dim::product(product) == all) return f;
  }
  // Constant factors fold into f's atom.
  int64_t number = 1;
  for (const Expr& k : inner)
    number *= k.asConstant().value_or(0);
  if (number <= 0) return std::nullopt;
  auto last = atoms.back().dividedBy(number);
  if (!last) return std::nullopt;
  std::vector<Dim> factors(atoms.begin(), atoms.end() - 1);
  factors.emplace_back(*last);
  return Dim::product(factors);
}

void requireSomething(const Dim& reduced, std::vector<Constraint>& into) {
  for (const Expr& atom : reduced.atoms())
    into.push_back(Constraint::le(1, atom));
}

void divideBy(const Dim& extent, AccessPiece& piece) {
  for (const Expr& atom : extent.atoms()) {
    // 1/(2C) is 1/2 · 1/C.
    const int64_t content = std::max<int64_t>(atom.content(), 1);
    const Expr rest = *atom.dividedBy(content);
    const bool isNumber = atom.asConstant().value_or(0) >= 1;
    if (isNumber || content > 1) piece.coefficient = piece.coefficient * Rational{1, content};
    if (!isNumber) {
      piece.constants.push_back({.key = "1/",
                                 .parameters = {rest},
                                 .at = {},
                                 .value =
                                     [](std::span<const int64_t> p, auto) {
                                       return Rational{1, p[0]};
                                     },
                                 .positive = true});
    }
  }
}

}  // namespace pet
