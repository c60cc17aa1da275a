// Layout (regrouping of dimensions, as in einops), IndexMap (a gather by an affine map, in weight programs and by
// tables) and CyclicMap:
//
//   CyclicMap   as IndexMap; positions behind a digit's extent E, to 2E - 1, are read from its start again

#include <algorithm>

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

const IndexMapSpec& mapOf(const OpView& v) {
  return std::get<IndexMapSpec>(v.attributes.find("map")->second);
}

Expected<std::vector<Shape>> inferIndexMap(const OpView& v) {
  const IndexMapSpec& spec = mapOf(v);
  const Shape& x = v.operands[0];
  bool fits = spec.source.size() == x.size();
  for (size_t d = 0; fits && d < x.size(); ++d)
    fits = spec.source[d].size() == x[d].atoms().size();
  if (!fits) return fail(ErrorKind::kText, "a map's source does not have one expression per digit of " + str(x));
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
        return fail(ErrorKind::kText, fmt::format("the name '{}' of an axis is taken", axis.name));
      if (!axis.extent.isAffine()) return fail(ErrorKind::kText, "a map's axes must be affine: " + axis.name);
      factors.push_back(axis.extent);
    }
    out.push_back(Dim::product(factors));
  }
  return std::vector<Shape>{out};
}

/// The axes of a map at a position of its result.
struct Branch {
  std::map<std::string, Expr> axes;
  std::vector<Constraint> guards;
};

std::vector<Branch> branchesOf(const IndexMapSpec& spec, const Index& at) {
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
  return cases;
}

Index readBy(const IndexMapSpec& spec, const Branch& branch) {
  Index read;
  for (const auto& digits : spec.source) {
    read.emplace_back();
    for (const Expr& e : digits)
      read.back().push_back(e.substitute(branch.axes));
  }
  return read;
}

AccessPiece pieceOf(const OpView& v, const Branch& branch, Index read) {
  AccessPiece piece;
  piece.domain = branch.guards;
  requireInRange(read, v.operands[0], piece.domain);
  for (const Constraint& g : mapOf(v).guards)
    piece.domain.push_back(g.substitute(branch.axes));
  piece.reads = {{0, std::move(read)}};
  return piece;
}

Expected<std::vector<AccessPiece>> accessIndexMap(const OpView& v, int, const Index& at, NameSource&) {
  const IndexMapSpec& spec = mapOf(v);
  std::vector<AccessPiece> pieces;
  for (const Branch& branch : branchesOf(spec, at))
    pieces.push_back(pieceOf(v, branch, readBy(spec, branch)));
  return pieces;
}

/// The digit is read as it lies.
bool isAxisOf(const IndexMapSpec& spec, const Expr& digit, const Expr& extent) {
  auto is = [&](const LayoutAxis& axis) { return digit == Expr::variable(axis.name) && axis.extent == Dim(extent); };
  return std::any_of(spec.dims.begin(), spec.dims.end(),
                     [&](const auto& group) { return std::any_of(group.begin(), group.end(), is); });
}

/// Of each position in front of the ends and behind them; the last digit's varies fastest.
Expected<std::vector<AccessPiece>> accessCyclicMap(const OpView& v, int, const Index& at, NameSource&) {
  const IndexMapSpec& spec = mapOf(v);
  std::vector<AccessPiece> pieces;
  for (const Branch& branch : branchesOf(spec, at)) {
    std::vector<Index> reads{readBy(spec, branch)};
    for (size_t d = 0; d < spec.source.size(); ++d) {
      for (size_t k = 0; k < spec.source[d].size(); ++k) {
        const Expr& extent = v.operands[0][d].atoms()[k];
        if (isAxisOf(spec, spec.source[d][k], extent)) continue;
        requireFewCases(reads.size(), 2);
        std::vector<Index> next;
        for (Index& read : reads) {
          Index behind = read;
          behind[d][k] = behind[d][k] - extent;
          next.push_back(std::move(read));
          next.push_back(std::move(behind));
        }
        reads = std::move(next);
      }
    }
    for (Index& read : reads)
      pieces.push_back(pieceOf(v, branch, std::move(read)));
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
    {.name = "CyclicMap",
     .minOperands = 1,
     .maxOperands = 1,
     .attributes = {{"map", AttributeKind::kIndexMap, ""}},
     .infer = inferIndexMap,
     .access = accessCyclicMap,
     .kernels = ringKernels<kernels::CyclicMap>(),
     .layout = true,
     .fills = true,
     .rounding = {.arithmetic = Arithmetic::kMove}},
};

}  // namespace

std::span<const OpRow> layoutRows() {
  return kLayoutRows;
}

}  // namespace pet
