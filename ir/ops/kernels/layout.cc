// Layout: a permutation of the axes' digits. IndexMap: a gather by quasi-affine expressions.

#include "ir/ops/kernels/compiled_expr.h"
#include "ir/ops/kernels/support.h"

namespace pet::kernels {
namespace {

/// One digit of an input dimension that an IndexMap reads.
struct SourceDigit {
  CompiledExpr digit;
  int64_t extent, stride;
};

struct CompiledIndexMap {
  Extents axes;  ///< all axes of all output dimensions, outermost first
  std::vector<SourceDigit> source;
  std::vector<std::pair<CompiledExpr, Constraint::Kind>> guards;

  /// The element read at these axis positions, or kOutside.
  int64_t offset(const std::vector<int64_t>& at) const {
    for (const auto& [expr, kind] : guards) {
      int64_t v = expr(at);
      if (kind == Constraint::Kind::kZero ? v != 0 : v < 0) return kOutside;
    }
    int64_t sum = 0;
    for (const SourceDigit& s : source) {
      int64_t digit = s.digit(at);
      if (digit < 0 || digit >= s.extent) return kOutside;
      sum += digit * s.stride;
    }
    return sum;
  }
};

CompiledIndexMap compile(const IndexMapSpec& spec, const ConcreteNode& node) {
  CompiledIndexMap map;
  std::map<std::string, size_t> slots;
  for (const auto& dim : spec.dims) {
    for (const LayoutAxis& axis : dim) {
      slots[axis.name] = map.axes.size();
      map.axes.push_back(*axis.extent.evaluate(node.symbols));
    }
  }
  Extents extents;  // of every digit of the input
  for (const Dim& dim : node.operands[0]) {
    for (const Expr& atom : dim.atoms())
      extents.push_back(*atom.evaluate(node.symbols));
  }
  std::vector<int64_t> strides = rowMajorStrides(extents);
  for (const auto& digits : spec.source) {
    for (const Expr& digit : digits) {
      size_t i = map.source.size();
      map.source.push_back({CompiledExpr(digit, slots, node.symbols), extents[i], strides[i]});
    }
  }
  for (const Constraint& g : spec.guards)
    map.guards.emplace_back(CompiledExpr(g.expr, slots, node.symbols), g.kind);
  return map;
}

/// The next position in row-major order.
void advance(std::vector<int64_t>& at, const Extents& extents) {
  for (size_t d = extents.size(); d-- > 0;) {
    if (++at[d] < extents[d]) return;
    at[d] = 0;
  }
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Layout::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const auto& spec = std::get<LayoutSpec>(node.attributes.find("layout")->second);
  Extents leftExtents;
  std::vector<size_t> leftAxes;
  for (const auto& group : spec.left) {
    for (int axis : group) {
      leftAxes.push_back(static_cast<size_t>(axis));
      leftExtents.push_back(*spec.axes[leftAxes.back()].extent.evaluate(node.symbols));
    }
  }
  std::vector<int64_t> strides = rowMajorStrides(leftExtents);
  Offsets byAxis(spec.axes.size(), {0}), offsets;  // an axis on one side only has extent 1
  for (size_t i = 0; i < leftAxes.size(); ++i)
    byAxis[leftAxes[i]] = linearOffsets(leftExtents[i], strides[i]);
  for (const auto& group : spec.right) {
    for (int axis : group)
      offsets.push_back(byAxis[static_cast<size_t>(axis)]);
  }
  Tensor<T> y(node.outputs[0]);
  gather(offsets, in[0]->data.data(), T(), y.data.data());
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> IndexMap::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  CompiledIndexMap map = compile(std::get<IndexMapSpec>(node.attributes.find("map")->second), node);
  Tensor<T> y(node.outputs[0]);
  std::vector<int64_t> at(map.axes.size());
  for (T& to : y.data) {
    int64_t offset = map.offset(at);
    if (offset != kOutside) to = in[0]->data[static_cast<size_t>(offset)];
    advance(at, map.axes);
  }
  return std::vector{std::move(y)};
}

PET_INSTANTIATE_RING(Layout);
PET_INSTANTIATE_RING(IndexMap);

}  // namespace pet::kernels
