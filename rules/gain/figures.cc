#include "rules/gain/figures.h"

#include <algorithm>
#include <array>

#include "ir/ops/op.h"

namespace pet {
namespace {

/// Of a shape whose symbols are bound; a float, for what is estimated may be large.
std::optional<double> elements(const Shape& shape, const Bindings& symbols) {
  double product = 1;
  for (const Dim& dim : shape) {
    auto extent = dim.evaluate(symbols);
    if (!extent || *extent < 0) return std::nullopt;
    product *= static_cast<double>(*extent);
  }
  return product;
}

enum class Sums {
  kNone,
  kFilters,     ///< each output element: the weights of one of the filters (Conv)
  kTransposed,  ///< each input element: the weights of one of the input channels (ConvTranspose)
  kColumns,     ///< each output element: a row of the first operand (MatMul)
  kWindow,      ///< each output element: a kernel_shape
  kWholeInput,  ///< each input element once (a reduction)
};

struct SumsRow {
  std::string_view op;
  Sums sums;
};

/// What is not listed makes each element by one operation.
constexpr std::array kSums{
    SumsRow{"AveragePool", Sums::kWindow},
    SumsRow{"Conv", Sums::kFilters},
    SumsRow{"ConvTranspose", Sums::kTransposed},
    SumsRow{"Gemm", Sums::kColumns},
    SumsRow{"GlobalAveragePool", Sums::kWholeInput},
    SumsRow{"GlobalMaxPool", Sums::kWholeInput},
    SumsRow{"MatMul", Sums::kColumns},
    SumsRow{"MaxPool", Sums::kWindow},
    SumsRow{"OffsetReduce", Sums::kWholeInput},
    SumsRow{"ReduceMax", Sums::kWholeInput},
    SumsRow{"ReduceMean", Sums::kWholeInput},
    SumsRow{"ReduceSum", Sums::kWholeInput},
};

Sums sumsOf(std::string_view op) {
  for (const SumsRow& row : kSums) {
    if (row.op == op) return row.sums;
  }
  return Sums::kNone;
}

std::optional<double> over(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *b > 0 ? *a / *b : 0;
}

std::optional<double> times(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a * *b;
}

std::optional<double> workOf(const Program& program, const Node& node, const Bindings& symbols) {
  auto operand = [&](size_t i) -> const Shape& { return program.shape(node.operands[i]); };
  std::optional<double> made = 0;
  for (const Shape& s : node.shapes) {
    auto each = elements(s, symbols);
    made = each ? std::optional(*made + *each) : std::nullopt;
    if (!made) return std::nullopt;
  }
  switch (sumsOf(node.op->name)) {
    case Sums::kNone:
      return made;
    case Sums::kFilters:
      return times(made, over(elements(operand(1), symbols), elements({operand(1)[0]}, symbols)));
    case Sums::kTransposed:
      return times(elements(operand(0), symbols),
                   over(elements(operand(1), symbols), elements({operand(1)[0]}, symbols)));
    case Sums::kColumns: {
      bool transposed = node.op->name == "Gemm" && node.scalar("transA").asConstant() != 0;
      return times(made, elements({transposed ? operand(0).front() : operand(0).back()}, symbols));
    }
    case Sums::kWindow: {
      double window = 1;
      for (const Expr& e : node.list("kernel_shape")) {
        auto extent = e.evaluate(symbols);
        if (!extent) return std::nullopt;
        window *= static_cast<double>(*extent);
      }
      return times(made, window);
    }
    case Sums::kWholeInput:
      return elements(operand(0), symbols);
  }
  return std::nullopt;
}

}  // namespace

Expected<Figures> figuresOf(const Program& program, const Bindings& symbols) {
  auto unknown = [&](const Node& node) {
    return fail(ErrorKind::kCheck, "its extents are not known", node.names.empty() ? "" : node.names[0]);
  };
  try {
    Figures f;
    std::vector<bool> constant;
    for (const Node& node : program.nodes()) {
      bool given = node.op->name == "Input";
      constant.push_back(given ? node.scalar("constant") == Expr(1)
                               : std::all_of(node.operands.begin(), node.operands.end(),
                                             [&](Value v) { return constant[static_cast<size_t>(v.node)]; }));
      if (given) {
        auto size = elements(node.shapes[0], symbols);
        if (!size) return unknown(node);
        (constant.back() ? f.weights : f.input) += *size;
      } else if (!constant.back()) {
        auto work = workOf(program, node, symbols);
        if (!work || !(*work >= 0)) return unknown(node);
        f.work += *work;
      }
    }
    for (Value v : program.outputs()) {
      auto size = elements(program.shape(v), symbols);
      if (!size) return unknown(program.node(v));
      f.output += *size;
    }
    return f;
  } catch (const OverflowError&) {
    return fail(ErrorKind::kCheck, "extents beyond 64 bits");
  }
}

}  // namespace pet
