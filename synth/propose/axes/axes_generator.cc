#include "synth/propose/axes/axes_generator.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/analysis/along_axes.h"
#include "synth/analysis/in_pieces.h"
#include "synth/propose/program_writer.h"

namespace pet {
namespace {

/// How a part of the operator sees its operand.
enum class View {
  kPlain,
  kMerged,  ///< the dimensions in front of its axes, and those behind them, as few as the operator takes
  kLast,    ///< the same, its axis behind all others
};

/// A part of the operator: the work of neighbouring axes.
struct Part {
  size_t first, last;
  bool isMatrix;
};

/// A way to compute what an operator of a program does.
struct Way {
  int node;                 ///< the operator
  std::vector<Part> parts;  ///< in the order in which they are done
  View view = View::kPlain;
  bool isSingle = false;  ///< for shapes whose first dimension is 1, which views leave out

  std::string name() const {
    std::string text = isSingle ? "single" : "";
    for (const Part& p : parts) {
      const std::string axes = p.first == p.last ? fmt::to_string(p.first) : fmt::format("{}-{}", p.first, p.last);
      text += fmt::format("{}{}-{}", text.empty() ? "" : "_", p.isMatrix ? "matrix" : "itself", axes);
    }
    return text + (view == View::kMerged ? "_merged" : view == View::kLast ? "_last" : "");
  }
};

class WayWriter {
 public:
  WayWriter(const Program& program, const AlongAxes& along, const Way& way)
      : program_(program),
        in_(program.shape(program.nodes()[static_cast<size_t>(way.node)].operands[0])),
        along_(along),
        way_(way),
        form_(program) {}

  std::optional<Program> write() && {
    for (int i = 0; i < static_cast<int>(program_.nodes().size()); ++i) {
      const Node& n = program_.nodes()[static_cast<size_t>(i)];
      std::vector<Value> operands;
      for (Value v : n.operands)
        operands.push_back(now_.at(v));
      if (n.is(ops::kInput)) {
        now_[{i, 0}] = form_.find(n.names[0]);
      } else if (i != way_.node) {
        now_[{i, 0}] = form_.add(n.op->name, std::move(operands), n.attributes);
      } else {
        x_ = operands[0];
        if (!alongAxes()) return std::nullopt;
        now_[{i, 0}] = x_;
      }
    }
    auto program = std::move(form_).finish(now_.at(program_.outputs()[0]));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

 private:
  bool alongAxes() {
    for (const Part& part : way_.parts) {
      if (!(part.isMatrix ? product(part.first) : itself(part)) || !form_.ok()) return false;
    }
    if (!along_.dropped().empty()) x_ = form_.add(ops::kSqueeze.text, {x_}, {{"axes", along_.dropped()}});
    return true;
  }

  /// From the right along the last dimension, else from the left, all dimensions behind the axis being one.
  bool product(size_t axis) {
    const auto matrix = matrixOf(axis);
    if (!matrix) return false;
    if (along_.isOfParts()) return productOfParts(axis, *matrix);
    const size_t rank = in_.size();
    if (axis + 1 == rank) {
      x_ = form_.add(ops::kMatMul.text, {x_, *matrix});
      return true;
    }
    const Value left = form_.add(ops::kTranspose.text, {*matrix}, {{"perm", std::vector<Expr>{1, 0}}});
    auto behindMerged = [&](const Shape& s) {
      std::vector<AxisGroup> groups = singles(s, 0, axis + 1);
      groups.push_back(joined(s, axis + 1, rank));
      return groups;
    };
    return seen(behindMerged, axis, axis, axis, [&](Value x) { return form_.add(ops::kMatMul.text, {left, x}); });
  }

  /// The same with the axis and the parts of its numbers as one dimension: from the right where it is behind all
  /// others.
  bool productOfParts(size_t axis, Value matrix) {
    const size_t last = in_.size() - 1;
    const bool isLast = way_.view == View::kLast || axis + 1 == last;
    auto viewed = [&](const Shape& s) {
      const AxisGroup own{{fmt::format("a{}", axis), s[axis]}, {fmt::format("a{}", last), s[last]}};
      std::vector<AxisGroup> groups = singles(s, 0, axis);
      const std::vector<AxisGroup> behind =
          isLast ? singles(s, axis + 1, last) : std::vector<AxisGroup>{joined(s, axis + 1, last)};
      if (!isLast) groups.push_back(own);
      groups.insert(groups.end(), behind.begin(), behind.end());
      if (isLast) groups.push_back(own);
      return groups;
    };
    x_ = form_.layout(x_, singles(in_, 0, last + 1), viewed(in_));
    if (isLast) {
      x_ = form_.add(ops::kMatMul.text, {x_, matrix});
    } else {
      x_ = form_.add(ops::kMatMul.text,
                     {form_.add(ops::kTranspose.text, {matrix}, {{"perm", std::vector<Expr>{1, 0}}}), x_});
    }
    if (!form_.ok()) return false;
    const Shape& result = program_.nodes()[static_cast<size_t>(way_.node)].shapes[0];
    x_ = form_.layout(x_, viewed(result), singles(result, 0, last + 1));
    return form_.ok();
  }

  /// What the operator makes of the unit matrix: a row for each position that it reads.
  std::optional<Value> matrixOf(size_t axis) {
    if (!in_[axis].isAffine()) return std::nullopt;
    if (along_.isOfParts()) return matrixOfParts(axis);
    Value unit = form_.add(ops::kEye.text, {}, {{"extent", in_[axis].affine()}});
    const AxisGroup row{{"row", in_[axis]}};
    const bool hasChannels = along_.isPool() || along_.isFilter();
    size_t at = 1;
    if (hasChannels) {
      const AxisGroup column{{"column", in_[axis]}};
      unit = form_.layout(unit, {row, column}, {row, {}, column});
      at = 2;
    }
    if (!form_.ok()) return std::nullopt;
    auto attributes = along_.attributes(axis, axis, form_.shape(unit), at);
    if (!attributes) return std::nullopt;
    std::vector<Value> operands{unit};
    if (along_.isFilter()) {
      operands.push_back(kernelOfOneChannel(axis));
      attributes->insert_or_assign("group", Expr(1));
    }
    const Value matrix = form_.add(along_.op(), std::move(operands), std::move(*attributes));
    if (!hasChannels || !form_.ok()) return matrix;
    const AxisGroup column{{"column", form_.shape(matrix)[at]}};
    return form_.layout(matrix, {row, {}, column}, {row, column});
  }

  /// [1, 1, taps]
  Value kernelOfOneChannel(size_t axis) {
    const Value kernel = now_.at(along_.kernel(axis));
    std::vector<Expr> ones;
    const Shape& shape = form_.shape(kernel);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == Dim(1)) ones.emplace_back(static_cast<int64_t>(d));
    }
    const Value taps = ones.empty() ? kernel : form_.add(ops::kSqueeze.text, {kernel}, {{"axes", std::move(ones)}});
    return form_.add("Unsqueeze", {taps}, {{"axes", std::vector<Expr>{0, 1}}});
  }

  /// The operator's other operands for its work along some axes: weights without the kernels of the other axes.
  std::vector<Value> weightsFor(const Part& part) {
    if (!along_.isFilter()) return {};
    Value weights = now_.at(along_.kernel(part.first));
    for (size_t d = part.first + 1; d <= part.last; ++d)
      weights = form_.add(ops::kMul.text, {weights, now_.at(along_.kernel(d))});
    for (Value factor : along_.ofChannels())
      weights = form_.add(ops::kMul.text, {now_.at(factor), weights});
    return {weights};
  }

  /// A row for each part of each number that it reads.
  std::optional<Value> matrixOfParts(size_t axis) {
    const Dim &length = in_[axis], &parts = in_.back(), rows = Dim::product({length, parts});
    if (!rows.isAffine()) return std::nullopt;
    const AxisGroup row{{"row", rows}};
    const Value unit = form_.add(ops::kEye.text, {}, {{"extent", rows.affine()}});
    const Value signals =
        form_.layout(unit, {row, {{"n", length}, {"part", parts}}}, {row, {{"n", length}}, {{"part", parts}}});
    if (!form_.ok()) return std::nullopt;
    const Value spectra = form_.add(along_.op(), {signals}, *along_.attributes(axis, axis, form_.shape(signals), 1));
    if (!form_.ok()) return std::nullopt;
    const LayoutAxis frequency{"k", form_.shape(spectra)[1]}, part{"part", form_.shape(spectra)[2]};
    return form_.layout(spectra, {row, {frequency}, {part}}, {row, {frequency, part}});
  }

  bool itself(const Part& part) {
    const std::vector<AxisGroup> groups = viewed(in_, part);
    const auto own = std::find(groups.begin(), groups.end(), joined(in_, part.first, part.first + 1));
    const auto at = static_cast<size_t>(own - groups.begin());
    bool isSaid = true;
    return seen([&](const Shape& s) { return viewed(s, part); }, part.first, part.last, at,
                [&](Value x) {
                  auto attributes = along_.attributes(part.first, part.last, form_.shape(x), at);
                  isSaid = attributes.has_value();
                  if (!isSaid) return x;
                  std::vector<Value> operands = weightsFor(part);
                  operands.insert(operands.begin(), x);
                  return form_.add(along_.op(), std::move(operands), std::move(*attributes));
                }) &&
           isSaid;
  }

  /// Computes on a view of what there is so far; the result has other extents along the axes first … last, which are
  /// the view's dimensions from `at` on.
  template <typename ViewOf, typename Compute>
  bool seen(const ViewOf& viewOf, size_t first, size_t last, size_t at, const Compute& compute) {
    Shape shape = form_.shape(x_);
    const size_t rank = shape.size();
    const std::vector<AxisGroup> view = viewOf(shape);
    const bool isPlain = view == singles(shape, 0, rank);
    if (!isPlain) x_ = form_.layout(x_, singles(shape, 0, rank), view);
    if (!form_.ok()) return false;
    x_ = compute(x_);
    if (!form_.ok()) return false;
    if (isPlain) return true;
    for (size_t d = first; d <= last; ++d)
      shape[d] = form_.shape(x_)[at + d - first];
    x_ = form_.layout(x_, viewOf(shape), singles(shape, 0, rank));
    return form_.ok();
  }

  std::vector<AxisGroup> viewed(const Shape& s, const Part& part) const {
    if (way_.view == View::kPlain) return singles(s, 0, s.size());
    const size_t begin = way_.isSingle ? 1 : 0;
    std::vector<AxisGroup> groups;
    const bool isLine = along_.isOfImages() && part.first + 1 == s.size() && s.size() > 3;
    if (isLine) {
      groups = {joined(s, 0, 1), joined(s, 1, part.first - 1), joined(s, part.first - 1, part.first)};
    } else if (along_.isPool() || along_.isOfImages()) {
      groups = {joined(s, 0, 1), joined(s, 1, part.first)};
    } else if (part.first > begin) {
      groups = {joined(s, begin, part.first)};
    }
    const std::vector<AxisGroup> own = singles(s, part.first, part.last + 1);
    const AxisGroup behind = joined(s, part.last + 1, s.size());
    if (way_.view == View::kLast && !behind.empty()) groups.push_back(behind);
    groups.insert(groups.end(), own.begin(), own.end());
    if (way_.view == View::kMerged && !behind.empty()) groups.push_back(behind);
    return groups;
  }

  const Program& program_;
  const Shape in_;
  const AlongAxes& along_;
  const Way& way_;
  ProgramWriter form_;
  std::map<Value, Value> now_;  ///< the program's values in the form
  Value x_;
};

/// All ways to cut the axes from number `begin` on into parts of neighbours.
std::vector<std::vector<Part>> cuts(const AlongAxes& along, size_t begin) {
  const std::vector<size_t>& axes = along.axes();
  if (begin == axes.size()) return {{}};
  std::vector<std::vector<Part>> all;
  for (size_t end = begin + 1; end <= axes.size(); ++end) {
    if (axes[end - 1] - axes[begin] != end - 1 - begin) break;
    for (const std::vector<Part>& rest : cuts(along, end)) {
      for (bool isMatrix : {false, true}) {
        if (isMatrix && (end > begin + 1 || !along.isLinear())) continue;
        all.push_back({{axes[begin], axes[end - 1], isMatrix}});
        all.back().insert(all.back().end(), rest.begin(), rest.end());
      }
    }
  }
  return all;
}

/// Of an operator that mixes the parts of numbers, of so many dimensions.
std::vector<Way> waysOfParts(const AlongAxes& along, int node, size_t rank) {
  const size_t axis = along.axes()[0];
  std::vector<Way> ways{{node, {{axis, axis, true}}}};
  if (axis + 2 < rank) ways.push_back({node, {{axis, axis, true}}, View::kLast});
  return ways;
}

/// `isSymbol`: the first dimension is one, which may be 1.
std::vector<Way> waysOf(const AlongAxes& along, int node, bool isSymbol) {
  const bool isOfVectors = !along.isPool() && !along.isOfImages() && !along.isFilter();
  const bool maySingle = isSymbol && isOfVectors && along.axes()[0] > 0;
  std::vector<Way> ways;
  for (std::vector<Part>& parts : cuts(along, 0)) {
    const bool isItself = std::any_of(parts.begin(), parts.end(), [](const Part& p) { return !p.isMatrix; });
    if (isItself && parts.size() == 1) {  // as it stands, that is the pattern
      const bool mayBeLast = isOfVectors && parts[0].first == parts[0].last;
      if (along.isFilter()) continue;
      for (View view : {View::kMerged, View::kLast}) {
        if (view == View::kLast && !mayBeLast) continue;
        ways.push_back({node, parts, view});
        if (maySingle) ways.push_back({node, parts, view, true});
      }
      continue;
    }
    for (size_t order = 0; order < std::min<size_t>(2, parts.size()); ++order) {
      ways.push_back({node, parts});
      if (isItself && !along.isFilter()) ways.push_back({node, parts, View::kMerged});
      std::reverse(parts.begin(), parts.end());
    }
  }
  return ways;
}

/// The last operator is the only one that does not compute constants.
bool isOneOperator(const Program& program) {
  const std::vector<bool> constant = constantNodes(program);
  const auto last = static_cast<size_t>(program.outputs()[0].node);
  for (size_t i = 0; i < constant.size(); ++i) {
    if (!constant[i] && !program.nodes()[i].is(ops::kInput) && i != last) return false;
  }
  return !constant[last] && !program.nodes()[last].is(ops::kInput);
}

/// A Conv of one tap that mixes all channels and does nothing else.
bool isPointwise(const Program& program, const Node& n) {
  if (!n.is(ops::kConv) || n.scalar("group") != 1) return false;
  auto areAll = [&](std::string_view attribute, int64_t value) {
    const auto& list = n.list(attribute);
    return std::all_of(list.begin(), list.end(), [&](const Expr& e) { return e == value; });
  };
  const Shape& kernel = program.shape(n.operands[1]);
  return areAll("strides", 1) && areAll("pads", 0) &&
         std::all_of(kernel.begin() + 2, kernel.end(), [](const Dim& d) { return d == Dim(1); });
}

/// Of a linear operator along three axes behind the channels and a pointwise Conv of its result: the Conv first. Of
/// images it stays where it is, since engines resize these in the layout of their Convs.
std::optional<Program> withConvFirst(const Program& program) {
  const Node& conv = program.node(program.outputs()[0]);
  if (program.inputs().size() + 2 != program.nodes().size() || !isPointwise(program, conv)) return std::nullopt;
  const Node& op = program.node(conv.operands[0]);
  if (op.is(ops::kInput) || !program.node(op.operands[0]).is(ops::kInput)) return std::nullopt;
  const auto along = AlongAxes::of(program, op);
  if (!along || !along->isLinear() || along->isFilter() || !along->dropped().empty()) return std::nullopt;
  const size_t first = along->axes().front(), last = along->axes().back();
  if (first < 2 || last - first != 2 || along->axes().size() != 3) return std::nullopt;
  ProgramWriter form(program);
  const Value x = form.find(program.name(op.operands[0])), w = form.find(program.name(conv.operands[1]));
  const Value mixed = form.add(ops::kConv.text, {x, w}, conv.attributes);
  if (!form.ok()) return std::nullopt;
  auto attributes = along->attributes(first, last, form.shape(mixed), first);
  if (!attributes) return std::nullopt;
  const Value y = form.add(along->op(), {mixed}, std::move(*attributes));
  auto exchanged = std::move(form).finish(y);
  return exchanged ? std::optional(std::move(*exchanged)) : std::nullopt;
}

class AxesGenerator : public Generator {
 public:
  explicit AxesGenerator(const Pattern& pattern) : pattern_(pattern), program_(pattern.program) {
    const Value output = program_.outputs()[0];
    if (program_.outputs().size() != 1) return;
    if (auto exchanged = withConvFirst(program_)) {
      program_ = std::move(*exchanged);
      prefix_ = "conv_";
    } else if (!isOneOperator(program_)) {
      return;
    } else if (!AlongAxes::of(program_, program_.node(output))) {
      auto pieces = inPieces(program_);
      if (!pieces) return;
      program_ = std::move(*pieces);
    }
    for (int i = 0; i < static_cast<int>(program_.nodes().size()); ++i)
      addWays(i);
  }

  const Pattern& pattern() const override { return pattern_; }
  Source source() const override { return Source::kAxes; }
  size_t size() const override { return ways_.size(); }
  std::string name(size_t unit) const override { return prefix_ + ways_[unit].name(); }

  void propose(size_t unit, const Judge& judge) const override {
    const Way& way = ways_[unit];
    std::vector<std::pair<std::string, Expr>> where;
    Program source = program_;
    if (way.isSingle) {
      where.emplace_back(*source.nodes()[0].shapes[0][0].affine().asVariable(), 1);
      source = source.substitute({where.begin(), where.end()}).value();
    }
    const auto along = AlongAxes::of(source, source.nodes()[static_cast<size_t>(way.node)]);
    if (!along) return;
    auto program = WayWriter(source, *along, way).write();
    if (!program) return;
    const std::string name = this->name(unit);
    judge({name, Proposal{name, "axes", where, classOf(pattern_, where, *program), *program}});
  }

 private:
  void addWays(int node) {
    const Node& n = program_.nodes()[static_cast<size_t>(node)];
    auto along = AlongAxes::of(program_, n);
    if (!along) return;
    const Dim &first = program_.nodes()[0].shapes[0][0], &own = program_.shape(n.operands[0])[0];
    const bool isSymbol = own == first && first.isAffine() && first.affine().asVariable();
    std::vector<Way> ways = along->isOfParts() ? waysOfParts(*along, node, program_.shape(n.operands[0]).size())
                                               : waysOf(*along, node, isSymbol);
    const bool copies = n.is(ops::kResize) && n.text("mode") == "nearest";
    auto isOfMany = [&](const Way& w) {
      const bool multiplies = std::all_of(w.parts.begin(), w.parts.end(), [](const Part& p) { return p.isMatrix; });
      return w.parts.size() > 2 && (copies || !multiplies);
    };
    if (!prefix_.empty()) std::erase_if(ways, isOfMany);
    ways_.insert(ways_.end(), ways.begin(), ways.end());
  }

  const Pattern pattern_;
  Program program_;  ///< the pattern's, its operator in pieces where it is composed of others; a Conv behind it first
  std::string prefix_;  ///< of names
  std::vector<Way> ways_;
};

}  // namespace

MadeGenerator axesGenerator(const Pattern& pattern) {
  auto generator = std::make_unique<AxesGenerator>(pattern);
  if (generator->size() == 0) return tl::unexpected(std::string());
  return generator;
}

}  // namespace pet
