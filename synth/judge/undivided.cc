#include "synth/judge/undivided.h"

#include <map>
#include <set>

namespace pet {
namespace {

/// The same with symbols for divisions.
class Undivided {
 public:
  explicit Undivided(const ShapeClass& shapes)
      : known_(shapes.symbols.begin(), shapes.symbols.end()), shapes_{shapes.symbols, {}} {
    for (const Constraint& c : shapes.constraints)
      shapes_.constraints.push_back({of(c.expr), c.kind});
  }

  /// With the symbols of all that was asked for.
  const ShapeClass& shapes() const { return shapes_; }
  bool isSame() const { return symbols_.empty(); }

  Expected<Program> of(const Program& program) {
    ProgramBuilder builder;
    for (const Node& n : program.nodes()) {
      if (n.is(ops::kInput)) {
        Shape shape;
        for (const Dim& d : n.shapes[0])
          shape.push_back(of(d));
        builder.input(n.names[0], std::move(shape), n.scalar("constant") == Expr(1));
        continue;
      }
      Attributes attributes;
      for (const auto& [name, value] : n.attributes)
        attributes.emplace(name, of(value));
      if (auto added = builder.add(*n.op, n.operands, std::move(attributes), n.names); !added)
        return tl::unexpected(added.error());
    }
    return std::move(builder).finish(program.outputs());
  }

 private:
  Expr of(const Expr& e) {
    Expr result = e.constant();
    for (const auto& [term, coefficient] : e.terms())
      result += of(term) * coefficient;
    return result;
  }

  Expr of(const Expr::Term& term) {
    if (!term.division) return Expr::variable(term.name);
    const Expr division = floorDiv(term.division->numerator, term.division->divisor);
    for (const std::string& v : division.variables()) {
      if (!known_.contains(v)) return division;  // of an index
    }
    auto [it, isNew] = symbols_.emplace(term, "");
    if (isNew) {
      it->second = newName();
      shapes_.symbols.push_back(it->second);
    }
    return Expr::variable(it->second);
  }

  std::string newName() {
    std::string name;
    do {
      name = "D" + std::to_string(++named_);
    } while (known_.contains(name));
    return name;
  }

  Dim of(const Dim& d) {
    std::vector<Dim> factors;
    for (const Expr& atom : d.atoms())
      factors.emplace_back(of(atom));
    return Dim::product(factors);
  }

  Attribute of(const Attribute& attribute) {
    if (const auto* e = std::get_if<Expr>(&attribute)) return of(*e);
    Attribute result = attribute;
    if (auto* list = std::get_if<std::vector<Expr>>(&result)) {
      for (Expr& e : *list)
        e = of(e);
    } else if (auto* layout = std::get_if<LayoutSpec>(&result)) {
      for (LayoutAxis& axis : layout->axes)
        axis.extent = of(axis.extent);
    } else if (auto* map = std::get_if<IndexMapSpec>(&result)) {
      for (auto& dim : map->dims) {
        for (LayoutAxis& axis : dim)
          axis.extent = of(axis.extent);
      }
      for (auto& digits : map->source) {
        for (Expr& e : digits)
          e = of(e);
      }
      for (Constraint& c : map->guards)
        c.expr = of(c.expr);
    }
    return result;
  }

  const std::set<std::string> known_;
  std::map<Expr::Term, std::string> symbols_;
  int named_ = 0;
  ShapeClass shapes_;
};

}  // namespace

std::optional<OverShapes> undivided(const ShapeClass& shapes, const Difference& programs) {
  Undivided with(shapes);
  auto a = with.of(programs.a), b = with.of(programs.b);
  if (!a || !b || with.isSame()) return std::nullopt;
  return OverShapes{with.shapes(), {std::move(*a), std::move(*b)}};
}

}  // namespace pet
