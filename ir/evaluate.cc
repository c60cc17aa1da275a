#include "ir/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"

namespace pet {
namespace {

void collect(const Shape& shape, std::set<std::string>& into) {
  for (const Dim& d : shape) {
    for (const Expr& atom : d.atoms())
      atom.collectVariables(into);
  }
}

void collect(const std::vector<LayoutAxis>& axes, std::set<std::string>& into) {
  for (const LayoutAxis& axis : axes)
    collect(Shape{axis.extent}, into);
}

/// The shape symbols in an attribute; an IndexMap's axes are its own.
void collect(const Attribute& attribute, std::set<std::string>& into) {
  if (const auto* e = std::get_if<Expr>(&attribute)) e->collectVariables(into);
  if (const auto* list = std::get_if<std::vector<Expr>>(&attribute)) {
    for (const Expr& e : *list)
      e.collectVariables(into);
  }
  if (const auto* layout = std::get_if<LayoutSpec>(&attribute)) collect(layout->axes, into);
  if (const auto* map = std::get_if<IndexMapSpec>(&attribute)) {
    std::set<std::string> used;
    for (const auto& digits : map->source) {
      for (const Expr& e : digits)
        e.collectVariables(used);
    }
    for (const Constraint& g : map->guards)
      g.expr.collectVariables(used);
    for (const auto& dim : map->dims) {
      for (const LayoutAxis& axis : dim)
        used.erase(axis.name);
    }
    for (const auto& dim : map->dims)
      collect(dim, used);
    into.merge(used);
  }
}

Expected<void> checkBound(const Node& n, const std::vector<Shape>& operands, const Bindings& symbols) {
  std::set<std::string> used;
  for (const Shape& s : n.shapes)
    collect(s, used);
  for (const Shape& s : operands)
    collect(s, used);
  for (const auto& [name, attribute] : n.attributes)
    collect(attribute, used);
  for (const std::string& s : used) {
    if (!symbols.contains(s))
      return fail(ErrorKind::kUsage, fmt::format("no value for the shape symbol {}", s), n.names[0]);
  }
  return {};
}

/// The extents of a shape whose symbols are bound.
Expected<Extents> extentsOf(const Shape& shape, const Bindings& symbols, const std::string& name) {
  Extents extents = *evaluate(shape, symbols);
  if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; })) {
    return fail(ErrorKind::kModel, fmt::format("{} is negative: {}", str(shape), str(extents)), name);
  }
  return extents;
}

template <class T>
Expected<void> checkOperand(const Tensor<T>& x, const Shape& shape, const Bindings& symbols, const std::string& name) {
  Extents expected = *evaluate(shape, symbols);
  if (x.extents == expected && x.size() == elementCount(expected)) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("a tensor of extents {} is given for {} = {}", str(x.extents), str(shape), str(expected)),
              name);
}

/// How many nodes and outputs still need each value.
std::vector<std::vector<int>> countUses(const Program& program) {
  std::vector<std::vector<int>> uses;
  for (const Node& n : program.nodes())
    uses.emplace_back(n.names.size());
  auto use = [&](Value v) { ++uses[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]; };
  for (const Node& n : program.nodes())
    std::for_each(n.operands.begin(), n.operands.end(), use);
  std::for_each(program.outputs().begin(), program.outputs().end(), use);
  return uses;
}

/// The values of a program under evaluation; inputs are borrowed, results owned until their last use.
template <class T>
class Values {
 public:
  explicit Values(const Program& program) : uses_(countUses(program)), owned_(uses_.size()), borrowed_(uses_.size()) {}

  bool needed(size_t node) const {
    return std::any_of(uses_[node].begin(), uses_[node].end(), [](int n) { return n > 0; });
  }
  void borrow(size_t node, const Tensor<T>* x) { borrowed_[node] = x; }
  void own(size_t node, std::vector<Tensor<T>> results) { owned_[node] = std::move(results); }
  const Tensor<T>& get(Value v) const {
    auto node = static_cast<size_t>(v.node);
    return borrowed_[node] ? *borrowed_[node] : owned_[node][static_cast<size_t>(v.output)];
  }
  void release(Value v) {
    if (--count(v) == 0 && !borrowed_[static_cast<size_t>(v.node)]) slot(v) = Tensor<T>();
  }
  /// The value for good: moved out at its last use.
  Tensor<T> take(Value v) {
    bool last = --count(v) == 0;
    return last && !borrowed_[static_cast<size_t>(v.node)] ? std::move(slot(v)) : get(v);
  }

 private:
  int& count(Value v) { return uses_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]; }
  Tensor<T>& slot(Value v) { return owned_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]; }

  std::vector<std::vector<int>> uses_;
  std::vector<std::vector<Tensor<T>>> owned_;
  std::vector<const Tensor<T>*> borrowed_;
};

template <class T>
Expected<const Tensor<T>*> findInput(const Node& n,
                                     const Bindings& symbols,
                                     const std::map<std::string, Tensor<T>>& inputs) {
  auto it = inputs.find(n.names[0]);
  if (it == inputs.end()) return fail(ErrorKind::kUsage, "no tensor is given for this input", n.names[0]);
  if (auto ok = checkBound(n, {}, symbols); !ok) return tl::unexpected(ok.error());
  if (auto ok = checkOperand(it->second, n.shapes[0], symbols, n.names[0]); !ok) return tl::unexpected(ok.error());
  return &it->second;
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> evaluateNode(const Program& program,
                                              int node,
                                              const Bindings& symbols,
                                              const std::vector<const Tensor<T>*>& operands) {
  const Node& n = program.nodes()[static_cast<size_t>(node)];
  Kernel<T> kernel = n.op->kernels.template get<T>();
  if (!kernel) {
    return fail(ErrorKind::kUnsupported, fmt::format("{} cannot be evaluated over this type", n.op->name), n.names[0]);
  }
  ConcreteNode concrete{n.attributes, symbols, {}, {}};
  for (Value v : n.operands)
    concrete.operands.push_back(program.shape(v));
  if (auto ok = checkBound(n, concrete.operands, symbols); !ok) return tl::unexpected(ok.error());
  for (size_t i = 0; i < operands.size(); ++i) {
    auto ok = checkOperand(*operands[i], concrete.operands[i], symbols, program.name(n.operands[i]));
    if (!ok) return tl::unexpected(ok.error());
  }
  for (size_t i = 0; i < n.shapes.size(); ++i) {
    auto extents = extentsOf(n.shapes[i], symbols, n.names[i]);
    if (!extents) return tl::unexpected(extents.error());
    concrete.outputs.push_back(std::move(*extents));
  }
  auto results = kernel(concrete, operands);
  if (!results && results.error().where.empty()) results.error().where = n.names[0];
  return results;
}

template <class T>
Expected<std::vector<Tensor<T>>> evaluate(const Program& program,
                                          const Bindings& symbols,
                                          const std::map<std::string, Tensor<T>>& inputs) {
  Values<T> values(program);
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& n = program.nodes()[i];
    if (n.is(ops::kInput)) {
      if (!values.needed(i)) continue;
      auto x = findInput(n, symbols, inputs);
      if (!x) return tl::unexpected(x.error());
      values.borrow(i, *x);
      continue;
    }
    std::vector<const Tensor<T>*> operands;
    for (Value v : n.operands)
      operands.push_back(&values.get(v));
    auto results = evaluateNode<T>(program, static_cast<int>(i), symbols, operands);
    if (!results) return tl::unexpected(results.error());
    values.own(i, std::move(*results));
    for (Value v : n.operands)
      values.release(v);
  }
  std::vector<Tensor<T>> outputs;
  for (Value v : program.outputs())
    outputs.push_back(values.take(v));
  return outputs;
}

#define PET_INSTANTIATE_EVALUATE(T)                                                             \
  template Expected<std::vector<Tensor<T>>> evaluateNode(const Program&, int, const Bindings&,  \
                                                         const std::vector<const Tensor<T>*>&); \
  template Expected<std::vector<Tensor<T>>> evaluate(const Program&, const Bindings&,           \
                                                     const std::map<std::string, Tensor<T>>&)
PET_INSTANTIATE_EVALUATE(float);
PET_INSTANTIATE_EVALUATE(double);
PET_INSTANTIATE_EVALUATE(int64_t);
PET_INSTANTIATE_EVALUATE(Fp);
#undef PET_INSTANTIATE_EVALUATE

}  // namespace pet
