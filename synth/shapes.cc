#include "synth/shapes.h"

#include <set>

namespace pet {

std::optional<Bindings> typicalShape(const poly::Context& context, const Program& source, int64_t extent) {
  std::set<std::string> large, kernel;
  for (Value v : source.inputs()) {
    for (const Dim& d : source.shape(v)) {
      for (const Expr& atom : d.atoms())
        atom.collectVariables(source.node(v).scalar("constant") == Expr(1) ? kernel : large);
    }
  }
  poly::Conjunction fixed;
  auto tryAdd = [&](const Constraint& c) {
    fixed.push_back(c);
    if (!context.set({}, fixed).isEmpty()) return true;
    fixed.pop_back();
    return false;
  };
  // Pads first, so that kernels are not forced to be larger than 3 by pads of 3.
  auto pick = [&](const std::string& s, std::initializer_list<int64_t> values) {
    for (int64_t v : values) {
      if (tryAdd(Constraint::eq(Expr::variable(s), v))) return;
    }
  };
  for (const std::string& s : context.shapes().symbols) {
    if (!large.contains(s) && !kernel.contains(s)) pick(s, {1, 0, 2, 3, 4});
  }
  for (const std::string& s : context.shapes().symbols) {
    if (!large.contains(s) && kernel.contains(s)) pick(s, {3, 2, 1, 4, 5, 6, 7, 8, 9});
  }
  int64_t wanted = extent;
  for (const std::string& s : context.shapes().symbols) {
    if (!large.contains(s)) continue;
    for (int64_t v = wanted++; v > 0; --v) {
      if (tryAdd(Constraint::eq(Expr::variable(s), v))) break;
    }
  }
  auto point = context.set({}, fixed).sample();
  return point ? std::optional(point->first) : std::nullopt;
}

}  // namespace pet
