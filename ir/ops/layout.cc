// Layout (regrouping of dimensions, as in einops) and IndexMap (a gather by an affine map, in weight programs and by
// tables).

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

namespace pet {
namespace {

Expected<std::vector<Shape>> inferLayout(const OpView& v) {
  const auto& spec = std::get<LayoutSpec>(v.attributes.find("layout")->second);
  Shape in = leftShape(spec);
  if (in != v.operands[0]) {
    return fail(ErrorKind::kText, fmt::format("Layout reads {} but its operand is {}", str(in), str(v.operands[0])));
  }
  return std::vector<Shape>{rightShape(spec)};
}

Expected<std::vector<AccessPiece>> accessLayout(const OpView& v, int, const Index& at, NameSource&) {
  return readsOf(layoutSources(std::get<LayoutSpec>(v.attributes.find("layout")->second), at));
}

Expected<std::vector<Shape>> inferIndexMap(const OpView& v) {
  const auto& spec = std::get<IndexMapSpec>(v.attributes.find("map")->second);
  const Shape& x = v.operands[0];
  bool fits = spec.source.size() == x.size();
  for (size_t d = 0; fits && d < x.size(); ++d)
    fits = spec.source[d].size() == x[d].atoms().size();
  if (!fits) return fail(ErrorKind::kText, "IndexMap's source does not have one expression per digit of " + str(x));
  // An axis that is also a symbol could not be told from it.
  std::set<std::string> taken;
  for (const Dim& d : x) {
    for (const Expr& atom : d.atoms())
      atom.collectVariables(taken);
  }
  for (const auto& group : spec.dims) {
    for (const LayoutAxis& axis : group)
      axis.extent.affine().collectVariables(taken);
  }
  Shape out;
  for (const auto& group : spec.dims) {
    std::vector<Dim> factors;
    for (const LayoutAxis& axis : group) {
      if (!taken.insert(axis.name).second)
        return fail(ErrorKind::kText, fmt::format("IndexMap: the name '{}' is taken", axis.name));
      if (!axis.extent.isAffine()) return fail(ErrorKind::kText, "IndexMap axes must be affine: " + axis.name);
      factors.push_back(axis.extent);
    }
    out.push_back(Dim::product(factors));
  }
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessIndexMap(const OpView& v, int, const Index& at, NameSource&) {
  const auto& spec = std::get<IndexMapSpec>(v.attributes.find("map")->second);
  struct Branch {
    std::map<std::string, Expr> axes;
    std::vector<Constraint> guards;
  };
  std::vector<Branch> cases{{}};
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    std::vector<Dim> extents;
    for (const LayoutAxis& axis : spec.dims[d])
      extents.push_back(axis.extent);
    std::vector<Branch> next;
    const auto splits = splitDigits(extents, at[d]);
    requireFewCases(cases.size(), static_cast<int64_t>(splits.size()));
    for (const DigitCase& split : splits) {
      for (Branch c : cases) {
        for (size_t i = 0; i < spec.dims[d].size(); ++i)
          c.axes[spec.dims[d][i].name] = split.digits[i][0];
        c.guards.insert(c.guards.end(), split.guards.begin(), split.guards.end());
        next.push_back(std::move(c));
      }
    }
    cases = std::move(next);
  }
  std::vector<AccessPiece> pieces;
  for (const Branch& c : cases) {
    AccessPiece piece;
    piece.domain = c.guards;
    Index read;
    for (const auto& digits : spec.source) {
      read.emplace_back();
      for (const Expr& e : digits)
        read.back().push_back(e.substitute(c.axes));
    }
    requireInRange(read, v.operands[0], piece.domain);
    for (const Constraint& g : spec.guards)
      piece.domain.push_back(g.substitute(c.axes));
    piece.reads = {{0, std::move(read)}};
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

const OpRow kLayoutRows[] = {
    {.name = "Layout",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"layout", AttributeKind::kLayout, ""}},
     .infer = inferLayout,
     .access = accessLayout,
     .kernels = ringKernels<kernels::Layout>(),
     .layout = true,
     .rounding = {.arithmetic = Arithmetic::kMove}},
    {.name = "IndexMap",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"map", AttributeKind::kIndexMap, ""}},
     .infer = inferIndexMap,
     .access = accessIndexMap,
     .kernels = ringKernels<kernels::IndexMap>(),
     .layout = true,
     .fills = true,
     .rounding = {.arithmetic = Arithmetic::kMove}},
};

}  // namespace

std::span<const OpRow> layoutRows() {
  return kLayoutRows;
}

}  // namespace pet
