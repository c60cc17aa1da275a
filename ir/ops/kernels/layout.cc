// Layout: a permutation of the axes' digits. IndexMap and CyclicMap: a gather by quasi-affine expressions.

#include "ir/ops/kernels/compiled_expr.h"
#include "ir/ops/kernels/support.h"

namespace pet::kernels {
namespace {

/// Axes [begin, end).
struct AxisRange {
  size_t begin = 0, end = 0;
};

/// One digit of an input dimension that an IndexMap reads.
struct SourceDigit {
  CompiledExpr digit;
  AxisRange axes;  ///< that it mentions, and those between them
  int64_t extent, stride;
};

struct Guard {
  CompiledExpr expr;
  AxisRange axes;
  Constraint::Kind kind;
};

struct CompiledIndexMap {
  Extents axes;  ///< all axes of all output dimensions, outermost first
  std::vector<SourceDigit> source;
  std::vector<Guard> guards;
  bool goesAround = false;  ///< behind the end of a digit, once
};

/// The next position in row-major order, of these axes.
void advance(std::vector<int64_t>& at, const Extents& extents, const AxisRange& axes) {
  for (size_t d = axes.end; d-- > axes.begin;) {
    if (++at[d] < extents[d]) return;
    at[d] = 0;
  }
}

AxisRange axesIn(const Expr& e, const std::map<std::string, size_t>& slots) {
  AxisRange range;
  for (const auto& [name, slot] : slots) {
    if (!e.mentions(name)) continue;
    const bool isFirst = range.begin == range.end;
    range = {isFirst ? slot : std::min(range.begin, slot), isFirst ? slot + 1 : std::max(range.end, slot + 1)};
  }
  return range;
}

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
      map.source.push_back({CompiledExpr(digit, slots, node.symbols), axesIn(digit, slots), extents[i], strides[i]});
    }
  }
  for (const Constraint& g : spec.guards)
    map.guards.push_back({CompiledExpr(g.expr, slots, node.symbols), axesIn(g.expr, slots), g.kind});
  return map;
}

/// The axes in ranges that no expression reaches across: what is read is then a sum over ranges.
std::vector<AxisRange> independentRanges(const CompiledIndexMap& map) {
  std::vector<bool> joined(map.axes.size(), false);  // with the axis before
  auto join = [&](const AxisRange& axes) {
    for (size_t d = axes.begin + 1; d < axes.end; ++d)
      joined[d] = true;
  };
  for (const SourceDigit& s : map.source)
    join(s.axes);
  for (const Guard& g : map.guards)
    join(g.axes);
  std::vector<AxisRange> ranges;
  for (size_t d = 0; d < map.axes.size(); ++d) {
    if (joined[d]) {
      ranges.back().end = d + 1;
    } else {
      ranges.push_back({d, d + 1});
    }
  }
  if (ranges.empty()) ranges.push_back({0, 0});
  return ranges;
}

/// For each position of a range of axes: the part of the offset that it decides, or kOutside. What no axis decides is
/// the first range's.
std::vector<int64_t> offsetsOf(const CompiledIndexMap& map, const AxisRange& range) {
  auto within = [&](const AxisRange& axes) {
    return axes.begin == axes.end ? range.begin == 0 : range.begin <= axes.begin && axes.end <= range.end;
  };
  std::vector<const SourceDigit*> source;
  std::vector<const Guard*> guards;
  for (const SourceDigit& s : map.source) {
    if (within(s.axes)) source.push_back(&s);
  }
  for (const Guard& g : map.guards) {
    if (within(g.axes)) guards.push_back(&g);
  }
  size_t count = 1;
  for (size_t d = range.begin; d < range.end; ++d)
    count *= static_cast<size_t>(map.axes[d]);
  std::vector<int64_t> at(map.axes.size()), offsets(count);
  for (int64_t& offset : offsets) {
    bool inside = std::all_of(guards.begin(), guards.end(), [&](const Guard* g) {
      const int64_t v = g->expr(at);
      return g->kind == Constraint::Kind::kZero ? v == 0 : v >= 0;
    });
    for (size_t i = 0; inside && i < source.size(); ++i) {
      int64_t digit = source[i]->digit(at);
      if (map.goesAround && digit >= source[i]->extent) digit -= source[i]->extent;
      inside = digit >= 0 && digit < source[i]->extent;
      if (inside) offset += digit * source[i]->stride;
    }
    if (!inside) offset = kOutside;
    advance(at, map.axes, range);
  }
  return offsets;
}

/// The table's entries are at a distance of this from each other; 0 where they are not at one distance.
int64_t stepOf(const std::vector<int64_t>& table) {
  if (table.size() < 2 || table[0] == kOutside || table[1] == kOutside) return 0;
  const int64_t step = table[1] - table[0];
  for (size_t i = 1; i < table.size(); ++i) {
    if (table[i] == kOutside || table[i] - table[i - 1] != step) return 0;
  }
  return step;
}

/// Neighbouring dimensions that are one long stretch of what is read become one, so that gather() sees what is
/// transposed with what.
Offsets joined(const Offsets& dims) {
  constexpr size_t kMost = size_t{1} << 20;  // entries of a table
  Offsets result;
  for (const auto& inner : dims) {
    const int64_t step = stepOf(inner), outer = result.empty() ? 0 : stepOf(result.back());
    const bool goesOn = step != 0 && outer == step * static_cast<int64_t>(inner.size());
    if (!goesOn || result.back().size() * inner.size() > kMost) {
      result.push_back(inner);
      continue;
    }
    std::vector<int64_t> both;
    both.reserve(result.back().size() * inner.size());
    for (int64_t start : result.back()) {
      for (int64_t offset : inner)
        both.push_back(start + offset);
    }
    result.back() = std::move(both);
  }
  return result;
}

const IndexMapSpec& mapOf(const ConcreteNode& node) {
  return std::get<IndexMapSpec>(node.attributes.find("map")->second);
}

template <class T>
std::vector<Tensor<T>> gathered(const CompiledIndexMap& map, const ConcreteNode& node, const Tensor<T>& x) {
  Offsets offsets;
  for (const AxisRange& range : independentRanges(map))
    offsets.push_back(offsetsOf(map, range));
  Tensor<T> y(node.outputs[0]);
  gather(joined(offsets), x.data.data(), T(), y.data.data());
  return {std::move(y)};
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
  gather(joined(offsets), in[0]->data.data(), T(), y.data.data());
  return std::vector{std::move(y)};
}

template <class T>
Expected<std::vector<Tensor<T>>> IndexMap::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return gathered(compile(mapOf(node), node), node, *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> CyclicMap::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  CompiledIndexMap map = compile(mapOf(node), node);
  map.goesAround = true;
  return gathered(map, node, *in[0]);
}

PET_INSTANTIATE_RING(Layout);
PET_INSTANTIATE_RING(IndexMap);
PET_INSTANTIATE_RING(CyclicMap);

}  // namespace pet::kernels
