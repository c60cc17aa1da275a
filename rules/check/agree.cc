#include "rules/check/agree.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "ir/evaluate.h"

namespace pet::check {
namespace {

constexpr int64_t kMostElements = 1 << 16;

bool isSmall(const Program& program, const Bindings& symbols) {
  for (const Node& node : program.nodes()) {
    for (const Shape& shape : node.shapes) {
      auto extents = evaluate(shape, symbols);
      if (!extents ||
          std::any_of(extents->begin(), extents->end(), [](int64_t e) { return e < 0 || e > kMostElements; }) ||
          elementCount(*extents) > kMostElements) {
        return false;
      }
    }
  }
  return true;
}

/// The digits of every position of a shape, outermost first, as bindings of v0, v1, ….
std::vector<Bindings> positions(const Shape& shape, const Bindings& symbols) {
  std::vector<Bindings> result{symbols};
  size_t digit = 0;
  for (const Dim& d : shape) {
    for (const Expr& atom : d.atoms()) {
      std::string name = fmt::format("v{}", digit++);
      int64_t extent = *atom.evaluate(symbols);
      std::vector<Bindings> next;
      for (const Bindings& b : result) {
        for (int64_t i = 0; i < extent; ++i) {
          next.push_back(b);
          next.back()[name] = i;
        }
      }
      result = std::move(next);
    }
  }
  return result;
}

}  // namespace

std::optional<bool> agreeAt(const Program& a, const Program& b, const Bindings& symbols, const Formula& where) {
  try {
    if (!isSmall(a, symbols) || !isSmall(b, symbols)) return std::nullopt;
    std::mt19937_64 random(1);
    std::map<std::string, Tensor<Fp>> inputs;
    for (Value v : a.inputs()) {
      Tensor<Fp> t(*evaluate(a.shape(v), symbols));
      for (Fp& e : t.data)
        e = Fp(static_cast<int64_t>(random() % Fp::kPrime));
      inputs.emplace(a.name(v), std::move(t));
    }
    auto x = evaluate<Fp>(a, symbols, inputs), y = evaluate<Fp>(b, symbols, inputs);
    if (!x || !y || x->size() != y->size()) return std::nullopt;
    for (size_t o = 0; o < x->size(); ++o) {
      const Tensor<Fp>&ours = (*x)[o], &others = (*y)[o];
      if (ours.extents != others.extents) return std::nullopt;
      auto at = positions(a.shape(a.outputs()[o]), symbols);
      for (size_t i = 0; i < at.size(); ++i) {
        if (where.evaluate(at[i]) == true && ours.data[i] != others.data[i]) return false;
      }
    }
    return true;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace pet::check
