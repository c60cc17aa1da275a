#include "synth/propose/program_writer.h"

#include <algorithm>

#include "ir/denote.h"

namespace pet {

ShapeClass classOf(const Pattern& pattern,
                   const std::vector<std::pair<std::string, Expr>>& where,
                   const Program& program) {
  const std::map<std::string, Expr> by(where.begin(), where.end());
  ShapeClass result;
  auto add = [&](const std::string& symbol) {
    auto known = std::find(result.symbols.begin(), result.symbols.end(), symbol);
    if (known == result.symbols.end() && !by.contains(symbol)) result.symbols.push_back(symbol);
  };
  for (const std::string& s : pattern.shapes.symbols) {
    add(s);
    if (auto it = by.find(s); it != by.end()) {
      for (const std::string& variable : it->second.variables())
        add(variable);
    }
  }
  for (const Constraint& c : pattern.shapes.constraints)
    result.require(c.substitute(by));
  for (const Constraint& c : obligations(program))
    result.require(c);
  return result;
}

AxisGroup operator+(AxisGroup a, const AxisGroup& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

AxisGroup joined(const Shape& shape, size_t first, size_t last) {
  AxisGroup axes;
  for (size_t d = first; d < last; ++d)
    axes.push_back({fmt::format("a{}", d), shape[d]});
  return axes;
}

std::vector<AxisGroup> singles(const Shape& shape, size_t first, size_t last) {
  std::vector<AxisGroup> groups;
  for (size_t d = first; d < last; ++d)
    groups.push_back(joined(shape, d, d + 1));
  return groups;
}

ProgramWriter::ProgramWriter(const Program& pattern) {
  for (Value v : pattern.inputs())
    builder_.input(pattern.name(v), pattern.shape(v), isConstant(pattern, v));
}

Value ProgramWriter::add(std::string_view op, std::vector<Value> operands, Attributes attributes, std::string name) {
  if (!status_) return {};
  auto value = builder_.add(op, std::move(operands), std::move(attributes), std::move(name));
  if (value) return *value;
  status_ = tl::unexpected(value.error());
  return {};
}

Value ProgramWriter::layout(Value x,
                            const std::vector<AxisGroup>& from,
                            const std::vector<AxisGroup>& to,
                            std::string name) {
  LayoutSpec spec;
  auto number = [&](const LayoutAxis& a) {
    auto it = std::find_if(spec.axes.begin(), spec.axes.end(), [&](const LayoutAxis& b) { return a.name == b.name; });
    if (it == spec.axes.end()) it = spec.axes.insert(it, a);
    return static_cast<int>(it - spec.axes.begin());
  };
  auto side = [&](const std::vector<AxisGroup>& groups) {
    std::vector<std::vector<int>> result;
    for (const AxisGroup& group : groups) {
      result.emplace_back();
      for (const LayoutAxis& a : group)
        result.back().push_back(number(a));
      if (!group.empty()) continue;
      result.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({"one" + std::to_string(spec.axes.size()), 1});
    }
    return result;
  };
  spec.left = side(from);
  spec.right = side(to);
  return add("Layout", {x}, {{"layout", std::move(spec)}}, std::move(name));
}

Value ProgramWriter::pad(Value x, const std::vector<DimPad>& pads, double value) {
  if (!status_) return {};
  const size_t rank = shape(x).size();
  std::vector<Expr> list(2 * rank, 0);
  for (const DimPad& p : pads) {
    list[p.dim] = p.begin;
    list[rank + p.dim] = p.end;
  }
  return add("Pad", {x}, {{"pads", std::move(list)}, {"value", value}});
}

Value ProgramWriter::slice(Value x, size_t dim, const Expr& start, const Expr& end) {
  return add("Slice", {x},
             {{"axes", std::vector<Expr>{static_cast<int64_t>(dim)}},
              {"starts", std::vector<Expr>{start}},
              {"ends", std::vector<Expr>{end}}});
}

Value ProgramWriter::crop(Value x, size_t first, const std::vector<Expr>& extents) {
  std::vector<Expr> axes;
  for (size_t i = 0; i < extents.size(); ++i)
    axes.emplace_back(static_cast<int64_t>(first + i));
  return add("Slice", {x},
             {{"axes", std::move(axes)}, {"starts", std::vector<Expr>(extents.size(), 0)}, {"ends", extents}});
}

Value ProgramWriter::concat(std::vector<Value> parts, size_t dim) {
  if (parts.size() == 1) return parts[0];
  return add("Concat", std::move(parts), {{"axis", Expr(static_cast<int64_t>(dim))}});
}

Value ProgramWriter::constant(double value, std::vector<Expr> shape) {
  return add("Constant", {}, {{"value", value}, {"shape", std::move(shape)}});
}

Expected<Program> ProgramWriter::finish(std::vector<Value> outputs) && {
  if (!status_) return tl::unexpected(status_.error());
  return std::move(builder_).finish(std::move(outputs)).withoutDeadNodes();
}

}  // namespace pet
