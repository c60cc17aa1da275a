#include "synth/analysis/operators.h"

namespace pet {

Attributes onOperand(const OpRow& op, Attributes attributes, const Shape& operand) {
  if (!op.is(ops::kResize)) return attributes;
  auto& sizes = std::get<std::vector<Expr>>(attributes.at("sizes"));
  if (sizes.size() == operand.size() && operand[1].isAffine()) sizes[1] = operand[1].affine();
  return attributes;
}

bool isIdentity(const IndexMapSpec& map, const Shape& shape) {
  if (!map.guards.empty() || map.dims.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<Dim> extents;
    std::vector<Expr> names;
    for (const LayoutAxis& a : map.dims[d]) {
      if (a.extent == Dim(1)) continue;
      extents.push_back(a.extent);
      names.push_back(Expr::variable(a.name));
    }
    Dim have = extents.empty() ? Dim(1) : Dim::product(extents);
    if (have != shape[d]) return false;
    if (names.empty() ? map.source[d] != std::vector<Expr>{0} : map.source[d] != names) return false;
  }
  return true;
}

}  // namespace pet
