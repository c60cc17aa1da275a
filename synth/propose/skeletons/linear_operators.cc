#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/ops/digits.h"
#include "ir/ops/op.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

/// Positions that windows may lack or have too many of at the borders.
constexpr int64_t kMostBorder = 16;

std::string windowName(bool transposed, int64_t stride, int64_t dilation, const Expr& group) {
  std::string name = transposed ? "convtranspose" : "conv";
  if (stride > 1) name += fmt::format("-s{}", stride);
  if (dilation > 1) name += fmt::format("-d{}", dilation);
  if (group != Expr(1)) name += fmt::format("-g{}", group.str());
  return name;
}

bool isAffine(const Shape& s, size_t from) {
  return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(from), s.end(), [](const Dim& d) { return d.isAffine(); });
}

/// The operators between an operand of shape x and a value of shape y.
class LinearOperators {
 public:
  LinearOperators(const PatternFacts& facts, const Shape& x, const Shape& y, int& nextSymbol)
      : facts_(facts), x_(x), y_(y), nextSymbol_(nextSymbol) {}

  std::vector<LinearOperator> all() {
    if (x_.size() != y_.size() || x_.size() < 2) return {};
    if (isImage(x_) && x_[0] == y_[0]) windows();
    if (x_.size() < 4 && std::equal(x_.begin(), x_.end() - 1, y_.begin())) add("matmul", {x_.back(), y_.back()}, times);
    bool columns = x_.size() == 3 && x_[0] == y_[0];
    if (columns && x_[2] == y_[2]) add("matmul", {y_[1], x_[1]}, timesLeft);
    if (x_.size() == 2 && x_[1] == y_[1]) add("matmul", {y_[0], x_[0]}, timesLeft);
    return std::move(operators_);
  }

  /// Transposed Convs of stride one, with the groups and the dilations of the pattern's own.
  std::vector<LinearOperator> transposed() {
    const Node& own = facts_.root();
    if (isAffine(x_, 2) && isAffine(y_, 2))
      window(true, own.scalar("group"), 1, *own.list("dilations")[0].asConstant());
    return std::move(operators_);
  }

 private:
  using Make = std::function<Expected<Value>(ProgramBuilder&, Value operand, Value hole)>;

  void add(std::string name, Shape hole, const Make& make) {
    operators_.push_back({std::move(name), std::move(hole), {}, make});
  }

  static Expected<Value> times(ProgramBuilder& b, Value x, Value hole) { return b.add("MatMul", {x, hole}); }
  static Expected<Value> timesLeft(ProgramBuilder& b, Value x, Value hole) { return b.add("MatMul", {hole, x}); }

  void windows() {
    Shape channels(x_.size() - 1, Dim(1));
    channels[0] = x_[1];
    if (x_ == y_)
      add("scale", channels, [](ProgramBuilder& b, Value x, Value hole) { return b.add("Mul", {x, hole}); });
    if (isAffine(x_, 2) && isAffine(y_, 2)) {
      for (const Expr& group : facts_.groups) {
        for (int64_t dilation : facts_.dilations) {
          for (int64_t stride : facts_.strides) {
            window(false, group, stride, dilation);
            // Another border than the own one: what is mirrored at one scale is repeated at another.
            if (facts_.mirrors && facts_.upsamples && isInput()) window(false, group, stride, dilation, "edge");
          }
          if (facts_.upsamples) {
            for (int64_t stride : upsamplings())
              window(true, group, stride, dilation);
          }
        }
      }
    }
    // A Conv with one tap: where several operators slide, a window's taps may not be determined.
    if (facts_.single || !std::equal(x_.begin() + 2, x_.end(), y_.begin() + 2)) return;
    Shape pointwise(x_.size(), Dim(1));
    pointwise[0] = y_[1];
    pointwise[1] = x_[1];
    add("pointwise", pointwise, [](ProgramBuilder& b, Value x, Value hole) { return b.add("Conv", {x, hole}); });
  }

  /// By two, and by what the pattern's own operators do.
  std::set<int64_t> upsamplings() const {
    std::set<int64_t> strides = facts_.strides;
    strides.erase(1);
    strides.insert(2);
    return strides;
  }

  bool isInput() const {
    return std::any_of(facts_.activations.begin(), facts_.activations.end(),
                       [&](Value v) { return facts_.program.shape(v) == x_; });
  }

  /// `stride` steps for each position of `steps` lead over `over`, at usual shapes.
  bool covers(const Shape& over, const Shape& steps, int64_t stride) const {
    for (size_t d = 2; d < over.size(); ++d) {
      auto a = over[d].evaluate(facts_.typical), b = steps[d].evaluate(facts_.typical);
      if (!a || !b || std::abs(*a - *b * stride) > kMostBorder) return false;
    }
    return true;
  }

  /// The window of the pattern's own Conv along dimension d, if it has these extents and this stride. Its pads serve
  /// every size; what follows from the extents is negative where no window reaches the last rows.
  struct OwnWindow {
    Expr pads, reach;  ///< of both ends; of its taps, less one
  };
  std::optional<OwnWindow> ownWindow(size_t d, int64_t stride) const {
    const Node& own = facts_.root();
    if (!facts_.single || !own.is(ops::kConv)) return std::nullopt;
    const Shape& x = facts_.program.shape(own.operands[0]);
    const size_t at = d + x.size() - x_.size(), spatial = x.size() - 2;
    if (x.size() < x_.size() || x[at] != x_[d] || own.shapes[0][at] != y_[d]) return std::nullopt;
    if (own.list("strides")[at - 2] != Expr(stride)) return std::nullopt;
    const Expr taps = facts_.program.shape(own.operands[1])[at].affine();
    const auto dilation = own.list("dilations")[at - 2].asConstant();
    if (!dilation) return std::nullopt;
    return OwnWindow{own.list("pads")[at - 2] + own.list("pads")[at - 2 + spatial], (taps - 1) * *dilation};
  }

  /// Pads at the end are those of the own window, less what taps and pads at the beginning differ by; else such that
  /// the output has the extents that are wanted. With a border, a Pad of that mode is in front of the operator instead.
  void window(bool transposed, const Expr& group, int64_t stride, int64_t dilation, const std::string& border = "") {
    if (!(transposed ? covers(y_, x_, stride) : covers(x_, y_, stride))) return;
    const Dim &in = x_[1], &out = y_[1];
    auto inner = divideByOuter(transposed ? out : in, group);
    if (!inner || !divideByOuter(transposed ? in : out, group)) return;
    std::string name = windowName(transposed, stride, dilation, group);
    if (!border.empty()) name = border + "-" + name;
    LinearOperator made{std::move(name), {transposed ? in : out, *inner}, {}, {}};
    std::vector<Expr> pads, ends;
    for (size_t d = 2; d < x_.size(); ++d) {
      HoleTaps t{static_cast<int>(d), fmt::format("begin'{}", nextSymbol_), fmt::format("taps'{}", nextSymbol_),
                 dilation};
      ++nextSymbol_;
      Expr reach = (Expr::variable(t.extent) - 1) * dilation, begin = Expr::variable(t.begin);
      const Expr &n = x_[d].affine(), &v = y_[d].affine();
      made.hole.emplace_back(Expr::variable(t.extent));
      pads.push_back(begin);
      const auto own = transposed ? std::nullopt : ownWindow(d, stride);
      ends.push_back(transposed ? (n - 1) * stride + reach + 1 - begin - v
                     : own      ? own->pads + reach - own->reach - begin
                                : (v - 1) * stride + reach + 1 - n - begin);
      made.taps.push_back(std::move(t));
    }
    pads.insert(pads.end(), ends.begin(), ends.end());
    Attributes attributes{{"strides", std::vector<Expr>(x_.size() - 2, stride)},
                          {"dilations", std::vector<Expr>(x_.size() - 2, dilation)},
                          {"group", group}};
    made.make = border.empty() ? operatorOn(transposed ? "ConvTranspose" : "Conv", attributes, pads)
                               : convOnPadded(border, attributes, pads);
    operators_.push_back(std::move(made));
  }

  static Make operatorOn(const char* op, Attributes attributes, std::vector<Expr> pads) {
    attributes["pads"] = std::move(pads);
    return [op, attributes](ProgramBuilder& b, Value x, Value hole) { return b.add(op, {x, hole}, attributes); };
  }

  static Make convOnPadded(const std::string& mode, const Attributes& attributes, std::vector<Expr> pads) {
    size_t axes = pads.size() / 2;
    for (size_t begin : {axes, size_t{0}})  // none for images and channels, on both sides
      pads.insert(pads.begin() + static_cast<std::ptrdiff_t>(begin), 2, Expr(0));
    return [mode, attributes, pads](ProgramBuilder& b, Value x, Value hole) -> Expected<Value> {
      auto wider = b.add("Pad", {x}, {{"pads", pads}, {"mode", mode}});
      return wider ? b.add("Conv", {*wider, hole}, attributes) : wider;
    };
  }

  const PatternFacts& facts_;
  const Shape &x_, &y_;
  int& nextSymbol_;
  std::vector<LinearOperator> operators_;
};

}  // namespace

std::vector<LinearOperator> linearOperators(const PatternFacts& facts,
                                            const Shape& from,
                                            const Shape& to,
                                            int& nextSymbol) {
  return LinearOperators(facts, from, to, nextSymbol).all();
}

std::vector<LinearOperator> transposedConvs(const PatternFacts& facts, const Shape& from, const Shape& to) {
  int nextSymbol = 0;
  return LinearOperators(facts, from, to, nextSymbol).transposed();
}

std::string linearName(const Node& n) {
  if (n.is(ops::kMatMul)) return "matmul";
  if (!n.is(ops::kConv) && !n.is(ops::kConvTranspose)) return "";
  auto first = [&](const char* list) { return n.list(list)[0].asConstant().value_or(0); };
  return windowName(n.is(ops::kConvTranspose), first("strides"), first("dilations"), n.scalar("group"));
}

}  // namespace pet
