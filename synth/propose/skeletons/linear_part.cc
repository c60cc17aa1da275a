#include "synth/propose/skeletons/linear_part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// Copies nodes of one program into another.
class Copier {
 public:
  Copier(const Program& from, ProgramBuilder& to) : from_(from), to_(to) {}

  Value& operator[](Value v) { return moved_[v]; }

  Value input(Value v) { return moved_[v] = to_.input(from_.name(v), from_.shape(v), isConstant(from_, v)); }

  Expected<void> node(int number) {
    const Node& n = from_.nodes()[static_cast<size_t>(number)];
    return node(number, n.names);
  }
  Expected<void> node(int number, const std::vector<std::string>& names) {
    const Node& n = from_.nodes()[static_cast<size_t>(number)];
    auto made = to_.add(*n.op, operands(n), n.attributes, names);
    if (!made) return tl::unexpected(made.error());
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      moved_[{number, o}] = {made->node, o};
    return {};
  }

  std::vector<Value> operands(const Node& n) const {
    std::vector<Value> result;
    for (Value v : n.operands)
      result.push_back(moved_.at(v));
    return result;
  }

  /// The node of the new program that computes what this one does.
  std::optional<int> sameAs(const Node& n) const {
    const auto& nodes = to_.peek().nodes();
    const auto read = operands(n);
    auto same = [&](const Node& o) { return o.op == n.op && o.operands == read && o.attributes == n.attributes; };
    auto it = std::find_if(nodes.begin(), nodes.end(), same);
    return it == nodes.end() ? std::nullopt : std::optional(static_cast<int>(it - nodes.begin()));
  }

  std::vector<Value> outputs() const {
    std::vector<Value> result;
    for (Value v : from_.outputs())
      result.push_back(moved_.at(v));
    return result;
  }

 private:
  const Program& from_;
  ProgramBuilder& to_;
  std::map<Value, Value> moved_;
};

/// LayerNormalization(x, s, b) as LayerNormalization(x, 1) · s + b.
Expected<Value> scaleApart(ProgramBuilder& b, const Node& n, const std::vector<Value>& operands) {
  std::vector<Expr> extents;
  for (const Dim& d : b.shape(operands[1])) {
    if (!d.isAffine()) return fail(ErrorKind::kUnsupported, "a scale over a product dimension");
    extents.push_back(d.affine());
  }
  auto ones = b.add("Constant", {}, {{"value", 1.0}, {"shape", std::move(extents)}});
  if (!ones) return ones;
  auto y = b.add(*n.op, {operands[0], *ones}, n.attributes, {n.names[0] + "'"});
  if (!y) return y;
  y = b.add("Mul", {*y, operands[1]});
  return y && operands.size() > 2 ? b.add("Add", {*y, operands[2]}) : y;
}

/// Normalisations without scale and bias of their own; BatchNormalization, which is linear, as what it is composed of.
Expected<Program> prepared(const Program& program) {
  ProgramBuilder b;
  Copier copy(program, b);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    Value v{static_cast<int>(i), 0};
    if (n.is(ops::kInput)) {
      copy.input(v);
    } else if (n.is(ops::kBatchNormalization)) {
      std::vector<Shape> shapes;
      for (Value o : n.operands)
        shapes.push_back(program.shape(o));
      auto made = n.op->lower(b, {n.attributes, shapes, n.shapes}, copy.operands(n));
      if (!made) return tl::unexpected(made.error());
      copy[v] = *made;
    } else if (n.is(ops::kLayerNormalization)) {
      auto made = scaleApart(b, n, copy.operands(n));
      if (!made) return tl::unexpected(made.error());
      copy[v] = *made;
    } else if (auto ok = copy.node(v.node); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return std::move(b).finish(copy.outputs());
}

bool isSum(const Node& n) {
  return n.op->meaning == Meaning::kSum && n.op->access && !n.op->lower;
}

}  // namespace

Expected<LinearPart> linearPart(const Pattern& pattern) {
  auto complete = prepared(pattern.program);
  if (!complete) return tl::unexpected(complete.error());
  ProgramBuilder b;
  Copier copy(*complete, b);
  for (Value v : complete->inputs())
    copy.input(v);
  for (size_t i = 0; i < complete->nodes().size(); ++i) {
    const Node& n = complete->nodes()[i];
    if (n.is(ops::kInput)) continue;
    if (isSum(n)) {
      if (auto ok = copy.node(static_cast<int>(i)); !ok) return tl::unexpected(ok.error());
      continue;
    }
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      copy.input({static_cast<int>(i), o});
  }
  Pattern linear{pattern.name, pattern.shapes, std::move(b).finish(copy.outputs()).withoutDeadNodes()};
  return LinearPart{std::move(linear), std::move(*complete)};
}

namespace {

/// The same program with every value computed once, and names that say what is a weight ("u1") and what an activation
/// ("t1"); outputs get these.
Expected<Program> withNames(const Program& program, const std::vector<std::string>& outputs) {
  ProgramBuilder b;
  Copier copy(program, b);
  std::map<Value, std::string> given;
  for (size_t o = 0; o < outputs.size(); ++o)
    given.emplace(program.outputs()[o], outputs[o]);
  std::set<std::string> taken(outputs.begin(), outputs.end());
  for (Value v : program.inputs())
    taken.insert(program.name(copy.input(v)));
  int next = 0;
  auto nameOf = [&](Value v) {
    if (auto it = given.find(v); it != given.end()) return it->second;
    std::string name;
    do
      name = fmt::format("{}{}", isConstant(program, v) ? 'u' : 't', ++next);
    while (!taken.insert(name).second);
    return name;
  };
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) continue;
    if (auto known = copy.sameAs(n)) {
      for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
        copy[{i, o}] = {*known, o};
      continue;
    }
    std::vector<std::string> names;
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
      names.push_back(nameOf({i, o}));
    if (auto ok = copy.node(i, names); !ok) return tl::unexpected(ok.error());
  }
  return std::move(b).finish(copy.outputs());
}

}  // namespace

Expected<Program> withLeaves(const LinearPart& part, const Program& program) {
  ProgramBuilder b;
  Copier definitions(part.complete, b), copy(program, b);
  for (Value v : part.complete.inputs())
    definitions.input(v);
  for (int i = 0; i < static_cast<int>(part.complete.nodes().size()); ++i) {
    if (part.complete.nodes()[static_cast<size_t>(i)].is(ops::kInput)) continue;
    if (auto ok = definitions.node(i, {}); !ok) return tl::unexpected(ok.error());
  }
  for (int i = 0; i < static_cast<int>(program.nodes().size()); ++i) {
    const Node& n = program.nodes()[static_cast<size_t>(i)];
    if (n.is(ops::kInput)) {
      copy[{i, 0}] = definitions[*part.complete.find(n.names[0])];
    } else if (auto ok = copy.node(i, {}); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  std::vector<std::string> names;
  for (Value v : part.complete.outputs())
    names.push_back(part.complete.name(v));
  return withNames(std::move(b).finish(copy.outputs()).withoutDeadNodes(), names);
}

}  // namespace pet
