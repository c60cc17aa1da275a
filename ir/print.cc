#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/join.h"
#include "ir/text.h"

namespace pet {
namespace {

/// An extent after "name:": simple terms as they are, sums in braces.
std::string extentText(const Dim& d) {
  if (!d.isAffine()) return d.str();
  const Expr& e = d.affine();
  bool simple =
      (e.terms().size() == 1 && e.constant() == 0 && e.terms()[0].second > 0) || (e.isConstant() && e.constant() >= 0);
  return simple ? e.str() : "{" + e.str() + "}";
}

std::string listText(const std::vector<Expr>& list) {
  return "[" + joined(list, ", ", [](const Expr& e) { return e.str(); }) + "]";
}

/// The items of one dimension, in brackets if it has several.
template <class Item, class Text>
std::string groupText(const std::vector<Item>& group, Text text) {
  std::string items = joined(group, " ", text);
  return group.size() == 1 ? items : "(" + items + ")";
}

std::string attributeText(const Attribute& a) {
  if (const auto* e = std::get_if<Expr>(&a)) return e->str();
  if (const auto* list = std::get_if<std::vector<Expr>>(&a)) return listText(*list);
  if (const auto* number = std::get_if<double>(&a)) return fmt::format("{}", *number);
  const auto& text = std::get<std::string>(a);
  return isName(text) ? text : fmt::format("\"{}\"", text);
}

bool isDefault(const OpRow& op, const AttributeSpec& spec, const Attribute& value, size_t rank) {
  if (spec.fallback.empty()) return false;
  switch (spec.kind) {
    case AttributeKind::kScalar:
      return std::get<Expr>(value) == Expr(std::stoll(std::string(spec.fallback)));
    case AttributeKind::kNumber:
      return std::get<double>(value) == std::stod(std::string(spec.fallback));
    case AttributeKind::kList: {
      const auto& list = std::get<std::vector<Expr>>(value);
      size_t space = spec.fallback.find(' ');
      if (space == std::string_view::npos) return list.empty();
      size_t count = (spec.fallback[0] == '2' ? 2 : 1) * (rank - 2);
      Expr each(std::stoll(std::string(spec.fallback.substr(space + 1))));
      return list.size() == count && std::all_of(list.begin(), list.end(), [&](const Expr& e) { return e == each; });
    }
    case AttributeKind::kText:
      return std::get<std::string>(value) == spec.fallback;
    default:
      (void)op;
      return false;
  }
}

std::string namesOf(const Program& program, const std::vector<Value>& values) {
  return joined(values, ", ", [&](Value v) { return program.name(v); });
}

std::string statementText(const Program& program, const Node& node) {
  std::string line =
      fmt::format("{} = {}({})", fmt::join(node.names, ", "), node.op->name, namesOf(program, node.operands));
  size_t rank = node.operands.empty() ? 0 : program.shape(node.operands[0]).size();
  for (const AttributeSpec& spec : node.op->attributes) {
    const Attribute& value = node.attributes.find(spec.name)->second;
    if (const auto* layout = std::get_if<LayoutSpec>(&value)) {
      line += "  " + print(*layout);
    } else if (const auto* map = std::get_if<IndexMapSpec>(&value)) {
      line += "  " + print(*map);
    } else if (!isDefault(*node.op, spec, value, rank)) {
      line += fmt::format(" {}={}", spec.name, attributeText(value));
    }
  }
  return line;
}

}  // namespace

std::string print(const LayoutSpec& layout) {
  // A constant axis prints as a literal where no other one has its value; extents are written where they cannot be
  // inferred.
  auto sideOf = [](const std::vector<std::vector<int>>& side, int axis) {
    for (size_t g = 0; g < side.size(); ++g) {
      if (std::find(side[g].begin(), side[g].end(), axis) != side[g].end()) return static_cast<int>(g);
    }
    return -1;
  };
  auto item = [&](int axis, bool left) -> std::string {
    const LayoutAxis& a = layout.axes[static_cast<size_t>(axis)];
    int group = sideOf(layout.left, axis);
    size_t open = 0;
    bool alone = false;
    if (group >= 0) {
      const auto& members = layout.left[static_cast<size_t>(group)];
      alone = members.size() == 1;
      for (int m : members)
        open += layout.axes[static_cast<size_t>(m)].extent.asConstant() ? 0 : 1;
    }
    if (auto c = a.extent.asConstant()) {
      auto same =
          std::count_if(layout.axes.begin(), layout.axes.end(), [&](const auto& o) { return o.extent == a.extent; });
      bool oneSided = group < 0 || sideOf(layout.right, axis) < 0;
      if ((same == 1 && !alone) || oneSided) return std::to_string(*c);
      return left && !alone ? fmt::format("{}:{}", a.name, *c) : a.name;
    }
    return left && open > 1 ? fmt::format("{}:{}", a.name, extentText(a.extent)) : a.name;
  };
  auto side = [&](const std::vector<std::vector<int>>& groups, bool left) {
    return joined(groups, " ", [&](const std::vector<int>& group) {
      return groupText(group, [&](int axis) { return item(axis, left); });
    });
  };
  return side(layout.left, true) + " -> " + side(layout.right, false);
}

std::string print(const IndexMapSpec& map) {
  auto axis = [](const LayoutAxis& a) { return fmt::format("{}:{}", a.name, extentText(a.extent)); };
  auto digit = [](const Expr& e) { return e.str(); };
  std::string text =
      fmt::format("[{}] -> [{}]", joined(map.dims, ", ", [&](const auto& group) { return groupText(group, axis); }),
                  joined(map.source, ", ", [&](const auto& digits) { return joined(digits, " : ", digit); }));
  if (map.guards.empty()) return text;
  return text + " where " + joined(map.guards, ", ", [](const Constraint& g) { return g.str(); });
}

std::string printStatement(const Program& program, const Node& node) {
  return statementText(program, node);
}

std::string printStatements(const Program& program, std::string_view indent) {
  std::string out;
  const auto& nodes = program.nodes();
  for (const Node& node : nodes) {
    if (!node.is(ops::kInput)) out += fmt::format("{}{}\n", indent, statementText(program, node));
  }
  const auto& outputs = program.outputs();
  bool last = outputs.size() == nodes.back().shapes.size();
  for (size_t i = 0; last && i < outputs.size(); ++i) {
    last = outputs[i] == Value{static_cast<int>(nodes.size()) - 1, static_cast<int>(i)};
  }
  if (!last) {
    out += fmt::format("{}return {}\n", indent, namesOf(program, outputs));
  }
  return out;
}

std::string print(const Program& program, std::string_view indent) {
  std::string out;
  for (Value v : program.inputs()) {
    bool constant = program.node(v).scalar("constant") == Expr(1);
    out += fmt::format("{}{}: {}{}\n", indent, program.name(v), constant ? "const " : "", str(program.shape(v)));
  }
  return out + printStatements(program, indent);
}

}  // namespace pet
