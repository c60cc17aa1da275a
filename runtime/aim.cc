#include "runtime/aim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/rounding.h"

namespace pet {
namespace {

constexpr size_t kMostAims = 64, kMostScales = 6;

/// A number that an operand of a node meets there.
struct Aim {
  int node;
  size_t operand;
  double number;
};

/// The numbers of a value that is made of constants of the program by moves alone.
std::vector<double> numbersOf(const Program& program, Value v) {
  const Node& n = program.node(v);
  if (n.is(ops::kConstant)) return {n.number("value")};
  if (n.is(ops::kTable)) {
    std::vector<double> entries;
    for (const Expr& e : n.list("values"))
      entries.push_back(static_cast<double>(e.constant()) / static_cast<double>(n.scalar("denominator").constant()));
    return entries;
  }
  if (n.op->rounding.arithmetic != Arithmetic::kMove || n.operands.size() != 1) return {};
  return numbersOf(program, n.operands[0]);
}

std::vector<Aim> aimsOf(const Program& program) {
  std::vector<Aim> aims;
  auto enter = [&](int node, size_t operand, double number) {
    if (std::isfinite(number) && number != 0 && aims.size() < kMostAims) aims.push_back({node, operand, number});
  };
  for (int index = 0; index < static_cast<int>(program.nodes().size()); ++index) {
    const Node& n = program.nodes()[static_cast<size_t>(index)];
    for (const auto& [name, attribute] : n.attributes) {
      const auto* number = std::get_if<double>(&attribute);
      if (number && !n.operands.empty()) enter(index, 0, *number);
    }
    for (size_t o = 0; o < n.operands.size(); ++o) {
      for (double number : numbersOf(program, n.operands[o])) {
        for (size_t other = 0; other < n.operands.size(); ++other) {
          if (other != o) enter(index, other, number);
        }
      }
    }
  }
  return aims;
}

/// The geometric mean of the magnitudes that are neither 0 nor infinite; NaN where there are none.
double magnitudeOf(const Tensor<double>& tensor) {
  double logarithms = 0;
  size_t count = 0;
  for (double x : tensor.data) {
    if (x == 0 || !std::isfinite(x)) continue;
    logarithms += std::log(std::abs(x));
    ++count;
  }
  return std::exp(logarithms / static_cast<double>(count));
}

/// The magnitude at each aim.
std::vector<double> magnitudesAt(const Program& program,
                                 const Bindings& symbols,
                                 const InputSource<double>& inputs,
                                 const std::vector<Aim>& aims) {
  std::vector<double> found(aims.size(), std::numeric_limits<double>::quiet_NaN());
  NodeEvaluator<double> evaluator = [&](int node, const std::vector<const Tensor<double>*>& operands) {
    for (size_t a = 0; a < aims.size(); ++a) {
      if (aims[a].node == node) found[a] = magnitudeOf(*operands[aims[a].operand]);
    }
    return evaluateNode(program, node, symbols, operands);
  };
  if (!executeWith(program, symbols, inputs, evaluator)) return {};
  return found;
}

}  // namespace

std::vector<double> scalesThatMeetNumbers(const Program& program,
                                          const Bindings& symbols,
                                          const std::function<InputSource<double>(double scale)>& inputsAt) {
  const std::vector<Aim> aims = aimsOf(program);
  if (aims.empty()) return {};
  std::vector<double> once = magnitudesAt(program, symbols, inputsAt(1), aims);
  std::vector<double> twice = magnitudesAt(program, symbols, inputsAt(2), aims);
  if (once.empty() || twice.empty()) return {};
  std::vector<double> scales;
  for (size_t a = 0; a < aims.size() && scales.size() < kMostScales; ++a) {
    double degree = std::log2(twice[a] / once[a]);
    if (!(std::abs(degree) > 0.1)) continue;  // it hardly depends on the activations; or it is NaN
    double scale = std::pow(std::abs(aims[a].number) / once[a], 1 / degree);
    auto near = [&](double other) { return std::abs(std::log(scale / other)) < 0.01; };
    if (scale > 1e-45 && scale < 1e30 && std::none_of(scales.begin(), scales.end(), near)) scales.push_back(scale);
  }
  return scales;
}

}  // namespace pet
