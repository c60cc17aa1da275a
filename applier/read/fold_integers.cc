#include "applier/read/fold_integers.h"

#include <algorithm>

namespace pet {
namespace {

/// An integer tensor under folding.
struct Integers {
  Extents extents;
  std::vector<int64_t> values;
};

class Folding {
 public:
  Folding(const GraphNode& node, int64_t opset, const Scope& scope) : node_(node), opset_(opset), scope_(scope) {}

  std::optional<Constant> constantNode() const;
  std::optional<Constant> identity() const;
  std::optional<Constant> shape() const;
  std::optional<Constant> size() const;
  std::optional<Constant> cast() const;
  std::optional<Constant> gather() const;
  std::optional<Constant> concat() const;
  std::optional<Constant> regroup() const;
  std::optional<Constant> slice() const;
  std::optional<Constant> arithmetic() const;

 private:
  template <class T>
  const T* attribute(std::string_view name) const {
    auto it = node_.attributes.find(name);
    return it == node_.attributes.end() ? nullptr : std::get_if<T>(&it->second);
  }
  int64_t integer(std::string_view name, int64_t fallback) const {
    const auto* i = attribute<int64_t>(name);
    return i ? *i : fallback;
  }
  const Constant* constant(size_t i) const {
    auto it = i < node_.inputs.size() ? scope_.constants.find(node_.inputs[i]) : scope_.constants.end();
    return it == scope_.constants.end() ? nullptr : &it->second;
  }
  std::optional<Integers> operand(size_t i) const;
  std::optional<Extents> extentsOf(const std::string& name) const;
  std::optional<std::vector<int64_t>> axes(size_t i) const;
  static Constant done(Extents extents, std::vector<int64_t> values) {
    return Constant::of(Tensor<int64_t>(std::move(extents), std::move(values)));
  }

  const GraphNode& node_;
  int64_t opset_;
  const Scope& scope_;
};

std::optional<Integers> Folding::operand(size_t i) const {
  const Constant* c = constant(i);
  auto values = c ? c->integers() : std::nullopt;
  if (!values) return std::nullopt;
  return Integers{c->extents, std::move(*values)};
}

std::optional<Extents> Folding::extentsOf(const std::string& name) const {
  if (auto v = scope_.values.find(name); v != scope_.values.end()) return asConstants(scope_.view->shape(v->second));
  auto t = scope_.inference->types.find(name);
  return t == scope_.inference->types.end() ? std::nullopt : t->second.extents();
}

std::optional<Constant> Folding::constantNode() const {
  if (const auto* c = attribute<Constant>("value")) return c->bytes ? std::optional(*c) : std::nullopt;
  if (const auto* i = attribute<int64_t>("value_int")) return done({}, {*i});
  if (const auto* list = attribute<std::vector<int64_t>>("value_ints"))
    return done({static_cast<int64_t>(list->size())}, *list);
  if (const auto* f = attribute<float>("value_float")) return Constant::of(Tensor<float>({}, {*f}));
  if (const auto* list = attribute<std::vector<float>>("value_floats")) {
    return Constant::of(Tensor<float>({static_cast<int64_t>(list->size())}, *list));
  }
  return std::nullopt;
}

std::optional<Constant> Folding::identity() const {
  const Constant* c = constant(0);
  return c ? std::optional(*c) : std::nullopt;
}

std::optional<Constant> Folding::shape() const {
  auto extents = extentsOf(node_.inputs.at(0));
  if (!extents) return std::nullopt;
  auto rank = static_cast<int64_t>(extents->size());
  auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  int64_t start = clamp(integer("start", 0)), end = std::max(start, clamp(integer("end", rank)));
  return done({end - start}, {extents->begin() + start, extents->begin() + end});
}

std::optional<Constant> Folding::size() const {
  auto extents = extentsOf(node_.inputs.at(0));
  if (!extents) return std::nullopt;
  return done({}, {elementCount(*extents)});
}

/// Numbers as truth values: all but 0.
Constant truthOf(const Constant& c, const std::vector<double>& values) {
  auto bytes = std::make_shared<std::string>();
  for (double x : values)
    bytes->push_back(x != 0 ? 1 : 0);
  return {ElementType::kBool, c.extents, std::move(bytes)};
}

std::optional<Constant> Folding::cast() const {
  const Constant* c = constant(0);
  if (auto values = c ? c->numbers() : std::nullopt;
      values && integer("to", 0) == static_cast<int64_t>(ElementType::kBool)) {
    return truthOf(*c, *values);
  }
  auto x = operand(0);
  if (!x || integer("to", 0) != static_cast<int64_t>(ElementType::kInt64)) return std::nullopt;
  return done(x->extents, x->values);
}

// y = x[i…] along axis 0 of a vector
std::optional<Constant> Folding::gather() const {
  auto x = operand(0), at = operand(1);
  if (!x || !at || x->extents.size() != 1) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i : at->values) {
    if (i < 0) i += x->extents[0];
    if (i < 0 || i >= x->extents[0]) return std::nullopt;
    values.push_back(x->values[static_cast<size_t>(i)]);
  }
  return done(at->extents, std::move(values));
}

std::optional<Constant> Folding::concat() const {
  std::vector<int64_t> values;
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    auto x = operand(i);
    if (!x || x->extents.size() != 1) return std::nullopt;
    values.insert(values.end(), x->values.begin(), x->values.end());
  }
  auto n = static_cast<int64_t>(values.size());
  return done({n}, std::move(values));
}

std::optional<std::vector<int64_t>> Folding::axes(size_t i) const {
  if (opset_ >= 13) {
    auto x = operand(i);
    return x ? std::optional(x->values) : std::nullopt;
  }
  const auto* list = attribute<std::vector<int64_t>>("axes");
  return list ? std::optional(*list) : std::nullopt;
}

/// Unsqueeze, Squeeze and Reshape between scalars and vectors of integers.
std::optional<Constant> Folding::regroup() const {
  auto x = operand(0);
  if (!x) return std::nullopt;
  auto count = static_cast<int64_t>(x->values.size());
  if (node_.type == "Unsqueeze" && x->extents.empty() && axes(1) && axes(1)->size() == 1) return done({1}, x->values);
  if (node_.type == "Squeeze" && x->extents == Extents{1}) return done({}, x->values);
  if (node_.type == "Reshape") {
    auto shape = operand(1);
    if (shape && shape->values.size() == 1 && (shape->values[0] == -1 || shape->values[0] == count))
      return done({count}, x->values);
  }
  return std::nullopt;
}

std::optional<Constant> Folding::slice() const {
  auto x = operand(0);
  if (!x || x->extents.size() != 1 || opset_ < 10) return std::nullopt;
  auto starts = operand(1), ends = operand(2), steps = operand(4);
  if (!starts || !ends || starts->values.size() != 1 || ends->values.size() != 1) return std::nullopt;
  int64_t step = node_.inputs.size() > 4 ? (steps && steps->values.size() == 1 ? steps->values[0] : 0) : 1;
  if (step < 1) return std::nullopt;
  auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + x->extents[0] : p, 0, x->extents[0]); };
  std::vector<int64_t> values;
  for (int64_t i = clamp(starts->values[0]); i < clamp(ends->values[0]); i += step)
    values.push_back(x->values[static_cast<size_t>(i)]);
  auto n = static_cast<int64_t>(values.size());
  return done({n}, std::move(values));
}

/// Add, Sub, Mul, Div of integers; one operand may be a single value.
std::optional<Constant> Folding::arithmetic() const {
  auto a = operand(0), b = operand(1);
  if (!a || !b || (a->values.size() != b->values.size() && a->values.size() != 1 && b->values.size() != 1))
    return std::nullopt;
  if (a->extents.size() > 1 || b->extents.size() > 1) return std::nullopt;
  size_t n = std::max(a->values.size(), b->values.size());
  std::vector<int64_t> values;
  for (size_t i = 0; i < n; ++i) {
    int64_t x = a->values[a->values.size() == 1 ? 0 : i], y = b->values[b->values.size() == 1 ? 0 : i];
    if (node_.type == "Add") values.push_back(checkedAdd(x, y));
    if (node_.type == "Sub") values.push_back(checkedAdd(x, checkedMul(y, -1)));
    if (node_.type == "Mul") values.push_back(checkedMul(x, y));
    if (node_.type == "Div") {
      if (y == 0) return std::nullopt;
      values.push_back(y == -1 ? checkedMul(x, -1) : x / y);  // towards zero, as in C
    }
  }
  return done(a->extents.size() >= b->extents.size() ? (n == 1 ? a->extents : Extents{static_cast<int64_t>(n)})
                                                     : (n == 1 ? b->extents : Extents{static_cast<int64_t>(n)}),
              std::move(values));
}

struct FoldRow {
  std::string_view type;
  std::optional<Constant> (Folding::*fold)() const;
};

constexpr FoldRow kFoldRows[] = {
    {"Constant", &Folding::constantNode},
    {"Identity", &Folding::identity},
    {"Shape", &Folding::shape},
    {"Size", &Folding::size},
    {"Cast", &Folding::cast},
    {"Gather", &Folding::gather},
    {"Concat", &Folding::concat},
    {"Unsqueeze", &Folding::regroup},
    {"Squeeze", &Folding::regroup},
    {"Reshape", &Folding::regroup},
    {"Slice", &Folding::slice},
    {"Add", &Folding::arithmetic},
    {"Sub", &Folding::arithmetic},
    {"Mul", &Folding::arithmetic},
    {"Div", &Folding::arithmetic},
};

}  // namespace

std::optional<Constant> foldConstant(const GraphNode& node, int64_t opset, const Scope& scope) {
  for (const FoldRow& row : kFoldRows) {
    if (row.type == node.type) return (Folding(node, opset, scope).*row.fold)();
  }
  return std::nullopt;
}

}  // namespace pet
