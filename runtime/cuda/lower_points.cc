// What is computed position by position, as one kernel with all that follows it: functions of one number, of two,
// choices, normalisations with known statistics, LRN, interpolation.

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cuda/points.h"
#include "runtime/plan/correction.h"
#include "runtime/plan/interpolation.h"

namespace pet::cuda {
namespace {

/// The operand whose form the result gets: of the result's extents, and no constant if there is another such.
Access formLike(Planner& p, int n) {
  const Extents extents = p.extents({n, 0});
  std::optional<Value> best;
  for (Value v : p.node(n).operands) {
    if (p.extents(v) == extents && (!best || (p.isConstant(*best) && !p.isConstant(v)))) best = v;
  }
  return best ? compacted(p.place(*best).access) : rowMajor(extents);
}

/// Where the result corrects another, or an operand's place that nobody else needs and that has this form, or a new
/// one.
Place placeFor(Planner& p, int n, Value result, const Access& form) {
  if (auto corrected = correctionPlace(p, result)) return *corrected;
  for (Value v : p.node(n).operands) {
    const Place& there = p.place(v);
    const bool isAlone = std::count(p.node(n).operands.begin(), p.node(n).operands.end(), v) == 1;
    if (isAlone && sameForm(there.access, form) && isDense(there.access) && p.isFree(there)) {
      const bool shared = std::any_of(p.node(n).operands.begin(), p.node(n).operands.end(), [&](Value other) {
        return other != v && p.root(p.place(other).buffer) == p.root(there.buffer);
      });
      if (!shared) return there;
    }
  }
  return p.create(form);
}

/// What the node makes of the elements of its operands, as an expression of theirs; nothing: it is not element-wise.
std::optional<std::string> elementOf(const Node& node, const std::vector<std::string>& x) {
  if (auto activation = activationOf(node)) return applied(*activation, x[0]);
  const std::string_view op = node.op->name;
  auto constant = [&](std::string_view name) { return number(static_cast<float>(node.number(name))); };
  if (op == "Add") return fmt::format("({} + {})", x[0], x[1]);
  if (op == "Sub") return fmt::format("({} - {})", x[0], x[1]);
  if (op == "Mul") return fmt::format("({} * {})", x[0], x[1]);
  if (op == "Div") return fmt::format("({} / {})", x[0], x[1]);
  if (op == "PRelu") return fmt::format("({0} < 0 ? {0} * {1} : {0})", x[0], x[1]);
  if (op == "Max") return fmt::format("({0} < {1} || {1} != {1} ? {1} : {0})", x[0], x[1]);
  if (op == "Where") return fmt::format("({} != 0 ? {} : {})", x[0], x[1], x[2]);
  if (op == "Erf") return fmt::format("erff({})", x[0]);
  if (op == "HardSigmoid")
    return fmt::format("clip({} * {} + {}, 0.0f, 1.0f)", x[0], constant("alpha"), constant("beta"));
  return std::nullopt;
}

bool lowerElements(Planner& p, int n, const Epilogue& e) {
  Place to = placeFor(p, n, e.result, formLike(p, n));
  Points points(p, to);
  std::vector<std::string> operands;
  for (Value v : p.node(n).operands)
    operands.push_back(points.keep(points.add(v)));
  points.emit(points.after(*elementOf(p.node(n), operands), e, lastDimension(p, n)));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

bool lowerBatchNormalization(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Tensor<float>* numbers[4];
  for (size_t i = 0; i < 4; ++i) {
    numbers[i] = p.constant(node.operands[i + 1]);
    if (!numbers[i]) throw NotLowered{"statistics that are not constant"};
  }
  std::vector<float> scale, shift;
  for (size_t c = 0; c < numbers[0]->data.size(); ++c) {
    const double by = numbers[0]->data[c] / std::sqrt(double{numbers[3]->data[c]} + node.number("epsilon"));
    scale.push_back(static_cast<float>(by));
    shift.push_back(static_cast<float>(numbers[1]->data[c] - numbers[2]->data[c] * by));
  }
  const Place from = p.place(node.operands[0]);
  Place to = p.overOrDense(from);
  Points points(p, to);
  const std::string x = points.add(from), by = points.addAlong(1, scale), more = points.addAlong(1, shift);
  points.emit(points.after(fmt::format("({} * {} + {})", x, by, more), e, 1));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

/// y = x / (bias + alpha / size · Σ x²)^beta over a window of channels.
bool lowerLrn(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const int64_t size = p.scalar(n, "size"), before = (size - 1) / 2;
  const Place from = p.dense(node.operands[0]);
  Place to = p.create(from.access);
  Points points(p, to);
  std::vector<std::string> squares;
  const int64_t channels = from.access.extents()[1];
  for (int64_t j = 0; j < size; ++j) {
    std::vector<int64_t> positions;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t at = c + j - before;
      positions.push_back(at < 0 || at >= channels ? -1 : at);
    }
    Access shifted = selected(from.access, 1, positions);
    shifted.fill = 0;
    squares.push_back(fmt::format("square({})", points.add({from.buffer, std::move(shifted)})));
  }
  const double alpha = node.number("alpha") / static_cast<double>(size);
  const std::string x = points.add(from);
  points.emit(fmt::format("({} / powf({} + {} * ({}), {}))", x, number(static_cast<float>(node.number("bias"))),
                          number(static_cast<float>(alpha)), fmt::join(squares, " + "),
                          number(static_cast<float>(node.number("beta")))));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

/// Each result from a few positions of each axis: the sum over all combinations, weighed.
bool lowerInterpolation(Planner& p, int n, const Epilogue& e) {
  const Extents extents = p.extents({n, 0});
  const Place from = p.dense(p.node(n).operands[0]);
  Place to = p.create(inOrder(extents, memoryOrder(from.access)));
  Points points(p, to);
  std::vector<std::pair<size_t, InterpolationTaps>> axes;  ///< with the dimension
  size_t combinations = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (auto taps = interpolationTaps(p, n, d)) {
      combinations *= taps->positions.size();
      axes.emplace_back(d, std::move(*taps));
    }
  }
  constexpr size_t kMost = 64;
  if (combinations > kMost) throw NotLowered{"an interpolation of too many positions"};
  std::vector<std::vector<std::string>> weights;
  for (const auto& [dimension, taps] : axes) {
    weights.emplace_back();
    for (const auto& w : taps.weights)
      weights.back().push_back(points.addAlong(dimension, w));
  }
  std::vector<std::string> terms;
  for (size_t c = 0; c < combinations; ++c) {
    Access access = from.access;
    std::string factors;
    size_t rest = c;
    for (size_t a = 0; a < axes.size(); ++a) {
      const auto& [dimension, taps] = axes[a];
      const size_t tap = rest % taps.positions.size();
      rest /= taps.positions.size();
      access = selected(access, dimension, taps.positions[tap]);
      factors += " * " + weights[a][tap];
    }
    terms.push_back(points.add({from.buffer, std::move(access)}) + factors);
  }
  points.emit(fmt::format("({})", fmt::join(terms, " + ")));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

constexpr LowerRow kPointRows[] = {
    {"Add", lowerElements, lastDimension},
    {"Sub", lowerElements, lastDimension},
    {"Mul", lowerElements, lastDimension},
    {"Div", lowerElements, lastDimension},
    {"PRelu", lowerElements, lastDimension},
    {"Max", lowerElements, lastDimension},
    {"Relu", lowerElements, lastDimension},
    {"LeakyRelu", lowerElements, lastDimension},
    {"Sigmoid", lowerElements, lastDimension},
    {"Tanh", lowerElements, lastDimension},
    {"Exp", lowerElements, lastDimension},
    {"Log", lowerElements, lastDimension},
    {"Abs", lowerElements, lastDimension},
    {"Sqrt", lowerElements, lastDimension},
    {"Square", lowerElements, lastDimension},
    {"Elu", lowerElements, lastDimension},
    {"Selu", lowerElements, lastDimension},
    {"Softplus", lowerElements, lastDimension},
    {"HardSwish", lowerElements, lastDimension},
    {"Swish", lowerElements, lastDimension},
    {"Mish", lowerElements, lastDimension},
    {"Neg", lowerElements, lastDimension},
    {"Reciprocal", lowerElements, lastDimension},
    {"Pow", lowerElements, lastDimension},
    {"Gelu", lowerElements, lastDimension},
    {"Clip", lowerElements, lastDimension},
    {"Erf", lowerElements, lastDimension},
    {"HardSigmoid", lowerElements, lastDimension},
    {"Where", lowerElements, lastDimension},
    {"BatchNormalization", lowerBatchNormalization, channelDimension},
    {"LRN", lowerLrn},
    {"Resize", lowerInterpolation},
};

}  // namespace

bool Planner::fuses(int n) const {
  const LowerRow* row = findLowering(node(n).op->name);
  return row && row->lower == lowerElements;
}

/// One kernel, of which each node is a line.
bool Planner::lowerFused(const std::vector<int>& members) {
  constexpr size_t kMostOperands = 16;
  const Value result{members.back(), 0};
  std::map<Value, std::string> names;
  for (int n : members)
    names[{n, 0}] = "";
  std::vector<Value> operands;
  for (int n : members) {
    for (Value v : node(n).operands) {
      if (names.try_emplace(v, "").second) operands.push_back(v);
    }
  }
  if (operands.size() > kMostOperands) return false;
  const Extents all = extents(result);
  Access form = rowMajor(all);
  for (Value v : operands) {
    if (extents(v) != all || isConstant(v)) continue;
    form = compacted(place(v).access);
    break;
  }
  Place to = placeOfResult(*this, result, form);
  Points points(*this, to);
  for (Value v : operands)
    names[v] = points.keep(points.add(v));
  for (int n : members) {
    std::vector<std::string> x;
    for (Value v : node(n).operands)
      x.push_back(names.at(v));
    names[{n, 0}] = points.keep(*elementOf(node(n), x));
  }
  points.emit(names.at(result));
  define(result, std::move(to));
  note(members.back(), "a kernel of our own");
  return true;
}

std::span<const LowerRow> pointLowerings() {
  return kPointRows;
}

}  // namespace pet::cuda
