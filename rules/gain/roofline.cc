#include "rules/gain/roofline.h"

#include <algorithm>

#include "ir/work.h"
#include "rules/gain/figures.h"

namespace pet {
namespace {

constexpr double kFlops = 2;  ///< of a multiply-add

/// What bounds an operator: the FLOP/s of a product (where they are not known, of a Conv), those of a Conv, or memory.
double Rates::*boundOf(const Node& node, const Rates& rates) {
  if (node.is(ops::kMatMul) || node.is(ops::kGemm)) return rates.gemm > 0 ? &Rates::gemm : &Rates::conv;
  if (node.is(ops::kConv) || node.is(ops::kConvTranspose)) return &Rates::conv;
  return &Rates::copy;
}

/// Elements that an operator makes.
double madeBy(const Node& node, const Bindings& symbols) {
  double made = 0;
  for (const Shape& shape : node.shapes)
    made += elementsOf(shape, symbols).value_or(0);
  return made;
}

}  // namespace

Expected<double> rooflineSeconds(const Program& program, const Bindings& symbols, const Rates& rates) {
  if (rates.copy <= 0) return fail(ErrorKind::kCheck, "the rates are not known");
  auto figures = figuresOf(program, symbols);
  if (!figures) return tl::unexpected(figures.error());
  double seconds = kElementBytes * (figures->input + figures->weights + figures->output) / rates.copy;
  for (size_t i = 0; i < program.nodes().size(); ++i) {
    const Node& node = program.nodes()[i];
    if (node.is(ops::kInput) || isConstant(program, {static_cast<int>(i), 0})) continue;
    const double Rates::*bound = boundOf(node, rates);
    if (rates.*bound <= 0) return fail(ErrorKind::kCheck, "the rates are not known");
    const double cost = bound == &Rates::copy ? 2 * kElementBytes * madeBy(node, symbols)
                                              : kFlops * workOf(program, node, symbols).value_or(0);
    seconds += cost / (rates.*bound);
  }
  return seconds;
}

}  // namespace pet
