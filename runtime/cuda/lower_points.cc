// What is computed position by position, as one kernel with all that follows it: functions of one number, of two,
// choices, normalisations with known statistics, LRN, interpolation.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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
  if (op == "Greater") return fmt::format("({} > {} ? 1.0f : 0.0f)", x[0], x[1]);
  if (op == "Where") return fmt::format("({} != 0 ? {} : {})", x[0], x[1], x[2]);
  if (op == "Not") return fmt::format("({} == 0 ? 1.0f : 0.0f)", x[0]);
  if (op == "Select") return fmt::format("({0} == 0 ? 0.0f : {0} * {1})", x[0], x[1]);
  if (op == "Erf") return fmt::format("erff({})", x[0]);
  if (op == "Sin") return fmt::format("sinf({})", x[0]);
  if (op == "Cos") return fmt::format("cosf({})", x[0]);
  if (op == "Floor") return fmt::format("floorf({})", x[0]);
  if (op == "Ceil") return fmt::format("ceilf({})", x[0]);
  if (op == "Mod") return fmt::format("fmodf({}, {})", x[0], constant("divisor"));
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
  p.note(n, kOwnKernel);
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
  p.note(n, kOwnKernel);
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
  p.note(n, kOwnKernel);
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
  p.note(n, kOwnKernel);
  return true;
}

constexpr LowerRow kPointRows[] = {
    {"Add", lowerElements, lastDimension},
    {"Sub", lowerElements, lastDimension},
    {"Mul", lowerElements, lastDimension},
    {"Div", lowerElements, lastDimension},
    {"PRelu", lowerElements, lastDimension},
    {"Max", lowerElements, lastDimension},
    {"Greater", lowerElements, lastDimension},
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
    {"Sin", lowerElements, lastDimension},
    {"Cos", lowerElements, lastDimension},
    {"Floor", lowerElements, lastDimension},
    {"Ceil", lowerElements, lastDimension},
    {"Mod", lowerElements, lastDimension},
    {"HardSigmoid", lowerElements, lastDimension},
    {"Where", lowerElements, lastDimension},
    {"Not", lowerElements, lastDimension},
    {"Select", lowerElements, lastDimension},
    {"BatchNormalization", lowerBatchNormalization, channelDimension},
    {"LRN", lowerLrn},
    {"Resize", lowerInterpolation},
};

}  // namespace

bool Planner::fuses(int n) const {
  const LowerRow* row = findLowering(node(n).op->name);
  return row && row->lower == lowerElements;
}

namespace {

/// How an operand of one of several nodes is seen by their result: through the moves between, the first one first.
struct Move {
  int node = -1;    ///< that moves
  Extents extents;  ///< or the order kept, in these
  auto operator<=>(const Move&) const = default;
};
using Moves = std::vector<Move>;

/// The lines of one kernel for several nodes.
class FusedLines {
 public:
  FusedLines(Planner& p, const std::vector<int>& members, Points& points)
      : planner_(p), members_(members.begin(), members.end()), points_(points) {}

  /// What the value is called, seen through moves. Throws NotLowered: it cannot be read so.
  std::string nameOf(Value v, const Extents& extents, const Moves& moves) {
    auto& name = names_[{v, extents, moves}];
    if (name.empty())
      name = points_.keep(members_.contains(v.node) ? computed(v.node, moves) : read(v, extents, moves));
    return name;
  }

 private:
  static Moves behind(Move first, const Moves& moves) {
    Moves all{std::move(first)};
    all.insert(all.end(), moves.begin(), moves.end());
    return all;
  }

  std::string computed(int n, const Moves& moves) {
    const Node& node = planner_.node(n);
    const Extents extents = planner_.extents({n, 0});
    if (planner_.isMove(n)) {
      const Value x = node.operands[0];
      return nameOf(x, planner_.extents(x), behind({n, {}}, moves));
    }
    std::vector<std::string> x;
    for (Value part : planner_.stackedAddends(n))
      x.push_back(nameOf(part, planner_.extents(part), behind({-1, extents}, moves)));
    if (!x.empty()) return fmt::format("{}", fmt::join(x, " + "));
    for (Value v : node.operands)
      x.push_back(nameOf(v, extents, moves));
    return *elementOf(node, x);
  }

  std::string read(Value v, const Extents& extents, const Moves& moves) {
    Place there = planner_.place(v);
    there.access = broadcast(there.access, extents);
    for (const Move& move : moves) {
      auto next = behindMove(there, move);
      if (!next) next = behindMove(planner_.as(there, rowMajor(there.access.extents())), move);
      if (!next) throw NotLowered{"elements that lie apart"};
      there = std::move(*next);
    }
    return points_.add(there);
  }

  /// Nothing: only a copy could be seen so.
  std::optional<Place> behindMove(const Place& there, const Move& move) {
    if (move.node >= 0) return planner_.moved(move.node, there);
    auto access = reshaped(there.access, move.extents);
    if (!access) return std::nullopt;
    return Place{there.buffer, std::move(*access)};
  }

  Planner& planner_;
  std::set<int> members_;
  Points& points_;
  std::map<std::tuple<Value, Extents, Moves>, std::string> names_;
};

/// The form of the first operand that has the result's extents, and is no constant; else row-major.
Access formOfFused(Planner& p, const std::vector<int>& members) {
  const std::set<int> all(members.begin(), members.end());
  const Extents extents = p.extents({members.back(), 0});
  for (int n : members) {
    for (Value v : p.node(n).operands) {
      if (!all.contains(v.node) && p.extents(v) == extents && !p.isConstant(v)) return compacted(p.place(v).access);
    }
  }
  return rowMajor(extents);
}

}  // namespace

/// One kernel, of which each node is a line, or several where it is read through several moves.
bool Planner::lowerFused(const std::vector<int>& members) {
  const Value result{members.back(), 0};
  Place to = placeOfResult(*this, result, formOfFused(*this, members));
  Points points(*this, to);
  FusedLines lines(*this, members, points);
  points.emit(lines.nameOf(result, extents(result), {}));
  define(result, std::move(to));
  note(members.back(), kOwnKernel);
  return true;
}

std::span<const LowerRow> pointLowerings() {
  return kPointRows;
}

}  // namespace pet::cuda
