#include "synth/propose/exchanges/exchange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/evaluate.h"
#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "synth/analysis/operators.h"
#include "synth/analysis/typical_shape.h"

namespace pet {
namespace {

/// Extents of the small shape: about this, and distinct; of one with hardly any elements about the second.
constexpr int64_t kExtents[] = {3, 17};
constexpr int64_t kFewElements = 9;  ///< so few may all have one sign
/// Values that differ by less than this, relative to the largest of the tensor, are equal.
constexpr double kResolution = 1e-6;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One of the pattern's operators, with what it has besides activations.
struct OperatorUse {
  const OpRow* op;
  Attributes attributes;
  std::vector<std::optional<Value>> operands;  ///< null: an activation
  size_t activations = 0;
  bool commutes = false;
};

/// A value, and the operators that compute it.
struct Item {
  Value value;
  std::vector<int> operators;  ///< nodes, sorted
  std::string name;
};

class Exchanges {
 public:
  Exchanges(const Pattern& pattern, const ExchangeOptions& options) : pattern_(pattern.program), options_(options) {
    poly::Context context(pattern.shapes);
    for (int64_t extent : kExtents) {
      auto shape = typicalShape(context, pattern_, extent);
      if (!shape) return;
      symbols_ = *shape;
      auto result = evaluate(pattern_.shape(pattern_.outputs()[0]), symbols_);
      if (!result || elementCount(*result) >= kFewElements) return;
    }
  }

  std::vector<Exchange> run() {
    if (symbols_.empty() || pattern_.outputs().size() != 1 || !start()) return {};
    int most = std::max(options_.operators, operatorCount());
    for (int size = 1; size <= most && !full(); ++size) {
      size_t known = items_.size();
      for (const OperatorUse& f : uses_) {
        if (f.activations == 1)
          unary(f, size, known);
        else
          binary(f, size, known);
      }
    }
    return std::move(found_);
  }

 private:
  bool full() const { return items_.size() >= options_.values || computed_ >= options_.elements; }

  int operatorCount() const {
    int n = 0;
    for (size_t i = 0; i < pattern_.nodes().size(); ++i)
      n += !pattern_.nodes()[i].is(ops::kInput) && !isConstant(pattern_, {static_cast<int>(i), 0});
    return n;
  }

  // --- Operators ---

  void addUse(OperatorUse f) {
    f.activations = static_cast<size_t>(std::count(f.operands.begin(), f.operands.end(), std::nullopt));
    auto same = [&](const OperatorUse& g) {
      return g.op == f.op && g.attributes == f.attributes && g.operands == f.operands;
    };
    if (f.activations >= 1 && f.activations <= 2 && std::none_of(uses_.begin(), uses_.end(), same))
      uses_.push_back(std::move(f));
  }

  /// The pattern's operators, and what may have to stand between them.
  void collectUses() {
    for (const Node& n : pattern_.nodes()) {
      if (n.is(ops::kInput) || n.names.size() != 1) continue;
      if (n.op->neverCancels) {  // in its place: its own values would stand for those of its parts
        addDefinition(n);
        continue;
      }
      OperatorUse f{n.op, n.attributes, {}, 0, n.is(ops::kAdd) || n.is(ops::kMul)};
      for (Value v : n.operands)
        f.operands.push_back(isConstant(pattern_, v) ? std::optional(v) : std::nullopt);
      addUse(std::move(f));
      if (n.is(ops::kMatMul)) addTranspose(n.shapes[0].size());
      if (n.is(ops::kMatMul)) addPartsOfMatrix(n);
      if (sumsProducts(n)) addProducts(n);
      if (isOfOneColumn(n)) addSumOfProducts(n);
      if (sumsJoined(n)) addUse({findOp(ops::kAdd.text), {}, {std::nullopt, std::nullopt}, 0, true});
      if (n.is(ops::kExpand)) {
        addUpsampling();
        addRepetition(n);
      }
    }
  }

  bool isOfConstants(const Node& n) const {
    return std::all_of(n.operands.begin(), n.operands.end(), [&](Value v) { return isConstant(pattern_, v); });
  }

  /// What the pattern clips to numbers of 0 to 1.
  bool isShare(Value v) const {
    const Node& n = pattern_.node(v);
    return n.is(ops::kClip) && isOfConstants(n) && n.number("min") >= 0 && n.number("max") <= 1;
  }

  /// The operators of a function's definition: of one that is bent at 0, the part above 0, the part below it, and sums
  /// and products with the weights. With weights of 0 to 1 it is the larger of two values, of which one is scaled.
  void addDefinition(const Node& n) {
    if (isOfConstants(n)) return;
    const auto share = std::find_if(n.operands.begin(), n.operands.end(), [&](Value v) { return isShare(v); });
    if (share != n.operands.end()) {
      addUse({findOp(ops::kMul.text), {}, {std::nullopt, *share}, 0, true});
      addUse({findOp("Max"), {}, {std::nullopt, std::nullopt}, 0, true});
      return;
    }
    ProgramBuilder definition(pattern_);
    std::vector<Shape> shapes;
    for (Value v : n.operands)
      shapes.push_back(pattern_.shape(v));
    if (!n.op->definition(definition, {n.attributes, shapes, n.shapes}, n.operands)) return;
    const std::vector<Node>& nodes = definition.peek().nodes();
    for (size_t i = pattern_.nodes().size(); i < nodes.size(); ++i) {
      OperatorUse f{nodes[i].op, nodes[i].attributes, {}, 0, nodes[i].is(ops::kMul)};
      for (Value v : nodes[i].operands) {
        const bool isOurs = static_cast<size_t>(v.node) < pattern_.nodes().size();
        f.operands.push_back(isOurs && isConstant(pattern_, v) ? std::optional(v) : std::nullopt);
      }
      addUse(std::move(f));
    }
    addUse({findOp(ops::kAdd.text), {}, {std::nullopt, std::nullopt}, 0, true});
    addUse({findOp(ops::kClip.text), {{"min", -kInfinity}, {"max", 0.0}}, {std::nullopt}});
  }

  /// Of the last two dimensions.
  void addTranspose(size_t rank) {
    if (rank < 2) return;
    std::vector<Expr> perm;
    for (size_t d = 0; d < rank; ++d)
      perm.emplace_back(static_cast<int64_t>(d));
    std::swap(perm[rank - 2], perm[rank - 1]);
    addUse({findOp(ops::kTranspose.text), {{"perm", perm}}, {std::nullopt}});
  }

  /// A product with a matrix that is a product of weights may be one with a weight, element by element; with a matrix
  /// of weights that are joined, a sum of products with these.
  void addPartsOfMatrix(const Node& product) {
    const Value value = product.operands[1];
    const Node& matrix = pattern_.node(value);
    if (!isConstant(pattern_, value) || !(matrix.is(ops::kMul) || matrix.is(ops::kConcat))) return;
    const OpRow* op = matrix.is(ops::kMul) ? findOp(ops::kMul.text) : product.op;
    for (Value weight : matrix.operands) {
      if (pattern_.node(weight).is(ops::kInput)) addUse({op, {}, {std::nullopt, weight}});
    }
    if (matrix.is(ops::kConcat)) addUse({findOp(ops::kAdd.text), {}, {std::nullopt, std::nullopt}, 0, true});
  }

  /// A ReduceSum of what a Mul of two activations makes.
  bool sumsProducts(const Node& n) const {
    if (!n.is(ops::kReduceSum)) return false;
    const Node& product = pattern_.node(n.operands[0]);
    return product.is(ops::kMul) && std::none_of(product.operands.begin(), product.operands.end(),
                                                 [&](Value v) { return isConstant(pattern_, v); });
  }

  /// A sum of products may be a product of matrices.
  void addProducts(const Node& sum) {
    addUse({findOp(ops::kMatMul.text), {}, {std::nullopt, std::nullopt}});
    for (Value v : pattern_.inputs())
      addTranspose(pattern_.shape(v).size());
    if (sum.scalar("keepdims") == 0) addUse({findOp(ops::kSqueeze.text), {{"axes", sum.list("axes")}}, {std::nullopt}});
    const std::vector<Value>& factors = pattern_.node(sum.operands[0]).operands;
    for (size_t i : {0, 1})
      addMatrices(sum, pattern_.shape(factors[i]), pattern_.shape(factors[1 - i]));
  }

  /// Where one factor has one value for all positions of several dimensions behind the axis that is summed: the other
  /// one as a matrix of these positions, that one as a row, and the row of the product as the sum has it.
  void addMatrices(const Node& sum, const Shape& values, const Shape& weights) {
    const std::vector<Expr>& axes = sum.list("axes");
    const auto axis = static_cast<size_t>(axes.size() == 1 ? axes[0].constant() : 0);
    if (axis == 0 || values.size() != weights.size() || values.size() < axis + 3) return;
    Shape behind(values.begin() + static_cast<std::ptrdiff_t>(axis) + 1, values.end());
    Shape whole(values.begin(), values.end() - static_cast<std::ptrdiff_t>(behind.size()));
    whole.resize(values.size(), Dim(1));
    if (weights != whole) return;
    const Shape front(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(axis));
    const Dim positions = Dim::product(behind);
    auto matrix = [&](const Dim& rows, const Dim& columns) {
      Shape shape = front;
      shape.insert(shape.end(), {rows, columns});
      return shape;
    };
    addRegrouping(values, matrix(values[axis], positions));
    addRegrouping(weights, matrix(1, values[axis]));
    addRegrouping(matrix(1, positions), sum.shapes[0]);
  }

  void addRegrouping(const Shape& from, const Shape& to) {
    auto layout = from == to ? std::nullopt : regroup(from, to);
    if (layout) addUse({findOp(ops::kLayout.text), {{"layout", std::move(*layout)}}, {std::nullopt}});
  }

  /// A MatMul of two activations, of which the second is one column: rows times a column.
  bool isOfOneColumn(const Node& n) const {
    if (!n.is(ops::kMatMul) || isConstant(pattern_, n.operands[0]) || isConstant(pattern_, n.operands[1])) return false;
    return n.shapes[0].size() >= 2 && n.shapes[0].back() == Dim(1);
  }

  void addSumOfProducts(const Node& product) {
    const auto last = static_cast<int64_t>(product.shapes[0].size()) - 1;
    addUse({findOp(ops::kMul.text), {}, {std::nullopt, std::nullopt}, 0, true});
    addUse({findOp(ops::kReduceSum.text), {{"axes", std::vector<Expr>{last}}, {"keepdims", Expr(1)}}, {std::nullopt}});
  }

  /// A ReduceSum of what a Concat makes.
  bool sumsJoined(const Node& n) const {
    return n.is(ops::kReduceSum) && pattern_.node(n.operands[0]).is(ops::kConcat);
  }

  /// Repeated values may be the nearest ones of an image of which the result is a multiple.
  void addUpsampling() {
    const Shape& result = pattern_.shape(pattern_.outputs()[0]);
    for (Value v : pattern_.inputs()) {
      auto scales = scalesTo(pattern_.shape(v), result);
      if (!scales) continue;
      addUse({findOp(ops::kResize.text),
              {{"mode", std::string("nearest")},
               {"sizes", std::vector<Expr>{}},
               {"scales", std::move(*scales)},
               {"coordinate_transformation_mode", std::string("asymmetric")},
               {"nearest_mode", std::string("floor")}},
              {std::nullopt}});
    }
  }

  /// Values that are there twice may be joined.
  void addRepetition(const Node& n) {
    const Shape& from = pattern_.shape(n.operands[0]);
    for (size_t d = 0; d < from.size() && from.size() == n.shapes[0].size(); ++d) {
      if (from[d] == Dim(1) && n.shapes[0][d] == Dim(2))
        addUse({findOp(ops::kConcat.text), {{"axis", Expr(static_cast<int64_t>(d))}}, {std::nullopt, std::nullopt}});
    }
  }

  /// As Resize has them, of images and channels by 1; nullopt: there are none, or all are 1.
  static std::optional<std::vector<Expr>> scalesTo(const Shape& from, const Shape& to) {
    constexpr int64_t kLargest = 8;
    if (from.size() != to.size() || from.size() < 3 || from == to) return std::nullopt;
    std::vector<Expr> scales;
    for (size_t d = 0; d < from.size(); ++d) {
      int64_t scale = 1;
      while (scale <= kLargest && !(from[d].isAffine() && to[d] == Dim(from[d].affine() * scale)))
        ++scale;
      if (scale > (d < 2 ? 1 : kLargest)) return std::nullopt;
      scales.insert(scales.end(), {scale, 1});
    }
    return scales;
  }

  // --- Values ---

  bool start() {
    collectUses();
    std::mt19937_64 random(options_.seed);
    std::uniform_real_distribution<double> activation(-1, 1), weight(0.5, 1.5);  // a variance is positive
    for (size_t i = 0; i < pattern_.nodes().size(); ++i) {
      const Node& n = pattern_.nodes()[i];
      Value v{static_cast<int>(i), 0};
      if (!n.is(ops::kInput)) {
        // The pattern's own values come first in the universe: constants are operands, the output is the target.
        auto made = universe_.add(*n.op, n.operands, n.attributes, n.names);
        if (!made || !evaluated(made->node)) return false;
        continue;
      }
      universe_.input(n.names[0], n.shapes[0], isConstant(pattern_, v));
      auto extents = evaluate(n.shapes[0], symbols_);
      if (!extents) return false;
      Tensor<double> t(*extents);
      for (double& e : t.data)
        e = isConstant(pattern_, v) ? weight(random) : activation(random);
      values_[v] = std::move(t);
      if (isConstant(pattern_, v)) continue;
      items_.push_back({v, {}, n.names[0]});
      seen_.insert(printOf(v));
    }
    target_ = printOf(pattern_.outputs()[0]);
    return true;
  }

  bool evaluated(int node) {
    const Node& n = universe_.peek().nodes()[static_cast<size_t>(node)];
    std::vector<const Tensor<double>*> operands;
    for (Value v : n.operands)
      operands.push_back(&values_.at(v));
    auto results = evaluateNode<double>(universe_.peek(), node, symbols_, operands);
    if (!results) return false;
    for (const Tensor<double>& t : *results) {
      computed_ += t.data.size();
      if (!std::all_of(t.data.begin(), t.data.end(), [](double e) { return std::isfinite(e); })) return false;
    }
    for (size_t o = 0; o < results->size(); ++o)
      values_[{node, static_cast<int>(o)}] = std::move((*results)[o]);
    return true;
  }

  /// Equal for values that are equal but for rounding.
  std::string printOf(Value v) const {
    const Tensor<double>& t = values_.at(v);
    double largest = 0;
    for (double e : t.data)
      largest = std::max(largest, std::abs(e));
    std::vector<int64_t> rounded;
    for (double e : t.data)
      rounded.push_back(largest > 0 ? std::llround(e / (largest * kResolution)) : 0);
    return fmt::format("{} {:.5e} {}", str(universe_.shape(v)), largest, fmt::join(rounded, " "));
  }

  // --- Enumeration ---

  void unary(const OperatorUse& f, int size, size_t known) {
    for (size_t i = 0; i < known && !full(); ++i) {
      if (static_cast<int>(items_[i].operators.size()) == size - 1) extend(f, {i});
    }
  }

  void binary(const OperatorUse& f, int size, size_t known) {
    for (size_t i = 0; i < known; ++i) {
      for (size_t j = f.commutes ? i : 0; j < known && !full(); ++j) {
        if (static_cast<int>(joined({i, j}).size()) == size - 1) extend(f, {i, j});
      }
    }
  }

  std::vector<int> joined(const std::vector<size_t>& operands) const {
    std::vector<int> all;
    for (size_t i : operands)
      all.insert(all.end(), items_[i].operators.begin(), items_[i].operators.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void extend(const OperatorUse& f, const std::vector<size_t>& operands) {
    std::vector<Value> values;
    std::vector<std::string> names;
    for (size_t next = 0; const auto& fixed : f.operands) {
      if (!fixed) names.push_back(items_[operands[next]].name);
      values.push_back(fixed ? *fixed : items_[operands[next++]].value);
    }
    Attributes attributes = onOperand(*f.op, f.attributes, universe_.shape(values[0]));
    auto made = universe_.add(*f.op, std::move(values), std::move(attributes));
    if (!made || !evaluated(made->node)) return;
    Item item{*made, joined(operands), fmt::format("{}({})", f.op->name, fmt::join(names, ":"))};
    item.operators.push_back(made->node);
    std::string print = printOf(*made);
    if (print == target_) {
      keep(item);
      return;
    }
    if (!seen_.insert(std::move(print)).second) {
      values_.erase(*made);
      return;
    }
    items_.push_back(std::move(item));
  }

  void keep(const Item& item) {
    ProgramBuilder b(universe_.peek());
    Program program = std::move(b).finish({item.value}).withoutDeadNodes();
    found_.push_back({item.name, std::move(program)});
  }

  const Program& pattern_;
  ExchangeOptions options_;
  Bindings symbols_;
  std::vector<OperatorUse> uses_;
  ProgramBuilder universe_;
  std::map<Value, Tensor<double>> values_;
  size_t computed_ = 0;  ///< elements
  std::vector<Item> items_;
  std::set<std::string> seen_;
  std::string target_;
  std::vector<Exchange> found_;
};

}  // namespace

std::vector<Exchange> enumerateExchanges(const Pattern& pattern, const ExchangeOptions& options) {
  return Exchanges(pattern, options).run();
}

}  // namespace pet
