#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// Rows of a block. A band reaches over at most as many to either side.
constexpr std::array<int64_t, 4> kRows{16, 32, 64, 128};

/// y = f(mask ⊙ g(q k)) v, g being multiplied by scalars, f Softmax or nothing, for queries [… S D], keys [… D S] and
/// values [… S E]. The mask is a band of [S, S].
struct BandedProduct {
  Value q, k, v;
  std::vector<int> scaled;  ///< nodes of g, the first one first
  enum class Mask { kFactor, kWhere, kAddend } mask = Mask::kFactor;
  Expr lower, upper;
  bool softmax = false;
  std::vector<Expr> outer;  ///< what stands as … above
  Expr rows, depth, width;
};

bool isConstantOf(const Program& p, Value v, double value) {
  const Node& n = p.node(v);
  return n.is(ops::kConstant) && n.number("value") == value;
}

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Follows a pattern from its output to its inputs; nullopt where it is not such a product.
class BandReader {
 public:
  explicit BandReader(const Program& p) : p_(p) {}

  std::optional<BandedProduct> read() {
    if (p_.outputs().size() != 1) return std::nullopt;
    const Node& y = p_.node(p_.outputs()[0]);
    if (!y.is(ops::kMatMul)) return std::nullopt;
    found_.v = y.operands[1];
    Value scores = y.operands[0];
    if (p_.node(scores).is(ops::kSoftmax)) {
      const Node& n = p_.node(scores);
      if (n.scalar("axis") != Expr(static_cast<int64_t>(n.shapes[0].size()) - 1)) return std::nullopt;
      found_.softmax = true;
      scores = n.operands[0];
    }
    if (!readMask(scores) || !readProduct() || !readExtents()) return std::nullopt;
    return found_;
  }

 private:
  bool readBand(Value v) {
    const Node& n = p_.node(v);
    if (!n.is(ops::kBand)) return false;
    found_.lower = n.scalar("lower");
    found_.upper = n.scalar("upper");
    return true;
  }

  /// 0 within the band, -inf outside.
  bool readAddend(Value v) {
    const Node& n = p_.node(v);
    return n.is(ops::kWhere) && isConstantOf(p_, n.operands[1], 0) && isConstantOf(p_, n.operands[2], kMinusInfinity) &&
           readBand(n.operands[0]);
  }

  bool readMask(Value v) {
    const Node& n = p_.node(v);
    if (found_.softmax && n.is(ops::kWhere)) {
      found_.mask = BandedProduct::Mask::kWhere;
      scores_ = n.operands[1];
      return isConstantOf(p_, n.operands[2], kMinusInfinity) && readBand(n.operands[0]);
    }
    if (n.op->name != (found_.softmax ? "Add" : "Mul")) return false;
    found_.mask = found_.softmax ? BandedProduct::Mask::kAddend : BandedProduct::Mask::kFactor;
    for (size_t side : {0, 1}) {
      scores_ = n.operands[side];
      if (found_.softmax ? readAddend(n.operands[1 - side]) : readBand(n.operands[1 - side])) return true;
    }
    return false;
  }

  bool readProduct() {
    while (!p_.node(scores_).is(ops::kMatMul)) {
      const Node& n = p_.node(scores_);
      bool scales = (n.is(ops::kMul) || n.is(ops::kDiv)) && p_.shape(n.operands[1]).empty() &&
                    p_.node(n.operands[1]).is(ops::kInput);
      if (!scales) return false;
      found_.scaled.insert(found_.scaled.begin(), scores_.node);
      scores_ = n.operands[0];
    }
    found_.q = p_.node(scores_).operands[0];
    found_.k = p_.node(scores_).operands[1];
    return true;
  }

  bool readExtents() {
    const Shape &q = p_.shape(found_.q), &k = p_.shape(found_.k), &v = p_.shape(found_.v);
    auto affine = [](const Shape& s) {
      return std::all_of(s.begin(), s.end(), [](const Dim& d) { return d.isAffine(); });
    };
    if (q.size() < 2 || q.size() != k.size() || q.size() != v.size() || !affine(q) || !affine(k) || !affine(v))
      return false;
    const size_t outer = q.size() - 2;
    for (size_t i = 0; i < outer; ++i) {
      if (q[i] != k[i] || q[i] != v[i]) return false;
      found_.outer.push_back(q[i].affine());
    }
    found_.rows = q[outer].affine();
    found_.depth = q[outer + 1].affine();
    found_.width = v[outer + 1].affine();
    return k[outer + 1] == q[outer] && v[outer] == q[outer];
  }

  const Program& p_;
  BandedProduct found_;
  Value scores_;
};

// --- The program ---

/// Blocks of m rows. `near` blocks of keys belong to a block of queries: the one before it, itself, the one behind it.
class BlockWriter {
 public:
  BlockWriter(const Program& pattern, const BandedProduct& b, int64_t m, int64_t near)
      : pattern_(pattern),
        b_(b),
        m_(m),
        near_(near),
        blocks_(ceilDiv(b.rows, m)),
        writer_(ProgramBuilder(pattern)),
        row_{{"i", m}},
        block_{{"t", blocks_}} {
    for (size_t i = 0; i < b.outer.size(); ++i)
      outer_.push_back({{fmt::format("n{}", i), b.outer[i]}});
  }

  Expected<Program> write() && {
    const size_t rank = outer_.size() + 2;
    const AxisGroup depth{{"d", b_.depth}}, width{{"e", b_.width}};
    Value queries = writer_.pad(b_.q, {{rank - 2, 0, missing()}});
    queries = writer_.layout(queries, behindOuter({block_ + row_, depth}), behindOuter({block_, row_, depth}));
    Value keys = neighboursOfColumns(b_.k, depth);
    Value values = neighbours(b_.v, rank - 2, behindOuter({{}, width}), behindOuter({{}, row_, width}));
    Value scores = writer_.add("MatMul", {queries, keys}, {}, "scores_of_blocks");
    for (int node : b_.scaled) {
      const Node& n = pattern_.nodes()[static_cast<size_t>(node)];
      scores = writer_.add(n.op->name, {scores, n.operands[1]});
    }
    scores = masked(scores);
    if (b_.softmax) scores = writer_.add("Softmax", {scores}, {{"axis", Expr(static_cast<int64_t>(rank))}});
    Value y = writer_.add("MatMul", {scores, values}, {}, "results_of_blocks");
    y = writer_.layout(y, behindOuter({block_, row_, width}), behindOuter({block_ + row_, width}));
    return std::move(writer_).finish(writer_.crop(y, rank - 2, {b_.rows}));
  }

 private:
  std::vector<AxisGroup> behindOuter(const std::vector<AxisGroup>& groups) const {
    std::vector<AxisGroup> result = outer_;
    result.insert(result.end(), groups.begin(), groups.end());
    return result;
  }

  /// So many rows are missing in the last block.
  Expr missing() const { return blocks_ * m_ - b_.rows; }

  /// For every block the rows of its neighbours, side by side: along `dim` of x, whose other dimensions are the axes
  /// `from`. In `to` the first empty group is the block.
  Value neighbours(Value x, size_t dim, std::vector<AxisGroup> from, std::vector<AxisGroup> to) {
    const int64_t behind = near_ - 2;
    x = writer_.pad(x, {{dim, m_, missing() + behind * m_}});
    const AxisGroup all{{"t", blocks_ + (near_ - 1)}};
    from[dim] = all + row_;
    auto blockDim =
        static_cast<size_t>(std::find_if(to.begin(), to.end(), [](const auto& g) { return g.empty(); }) - to.begin());
    to[blockDim] = all;
    auto rowDim =
        static_cast<size_t>(std::find_if(to.begin(), to.end(), [&](const auto& g) { return g == row_; }) - to.begin());
    x = writer_.layout(x, from, to);
    std::vector<Value> parts;
    for (int64_t i = 0; i < near_; ++i)
      parts.push_back(writer_.slice(x, blockDim, i, blocks_ + i));
    return writer_.concat(std::move(parts), rowDim);
  }

  /// The same of the columns of x. Rows stay in one piece in memory, so that they are gathered as rows, and engines
  /// transpose within a product.
  Value neighboursOfColumns(Value x, const AxisGroup& depth) {
    const AxisGroup columns{{"s", b_.rows}}, gathered{{"i", near_ * m_}};
    Value rows = writer_.layout(x, behindOuter({depth, columns}), behindOuter({columns, depth}));
    rows = neighbours(rows, outer_.size(), behindOuter({{}, depth}), behindOuter({{}, row_, depth}));
    return writer_.layout(rows, behindOuter({block_, gathered, depth}), behindOuter({block_, depth, gathered}));
  }

  /// Whether query and key of a block are in the band: [blocks, m, near · m]. Rows behind the last one, which Softmax
  /// sees before they are cropped, keep all keys.
  Value inside() {
    Value ones = writer_.constant(1, {b_.rows});
    Value keys = neighbours(ones, 0, {{}}, {{}, {{"o", 1}}, row_});
    Value band = writer_.add(
        "Band", {}, {{"shape", std::vector<Expr>{m_, near_ * m_}}, {"lower", b_.lower - m_}, {"upper", b_.upper + m_}});
    Value inside = writer_.add("Mul", {keys, band});
    if (!b_.softmax) return inside;
    Value real = writer_.pad(ones, {{0, 0, missing()}});
    Value added = writer_.pad(writer_.constant(0, {b_.rows}), {{0, 0, missing()}}, 1);
    auto asRows = [&](Value v) { return writer_.layout(v, {block_ + row_}, {block_, row_, {}}); };
    return writer_.add("Add", {writer_.add("Mul", {inside, asRows(real)}), asRows(added)});
  }

  Value masked(Value scores) {
    Value mask = inside();
    if (b_.mask == BandedProduct::Mask::kFactor) return writer_.add("Mul", {scores, mask});
    Value hidden = writer_.constant(kMinusInfinity);
    if (b_.mask == BandedProduct::Mask::kWhere) return writer_.add("Where", {mask, scores, hidden});
    return writer_.add("Add", {scores, writer_.add("Where", {mask, writer_.constant(0), hidden})});
  }

  const Program& pattern_;
  const BandedProduct& b_;
  const int64_t m_, near_;
  const Expr blocks_;
  ProgramWriter writer_;
  std::vector<AxisGroup> outer_;
  const AxisGroup row_, block_;
};

/// `near` is 2 where the band has nothing above the diagonal.
std::optional<Template> blockTemplate(const Pattern& pattern, int64_t m, int64_t near) {
  auto general = BandReader(pattern.program).read();
  if (!general) return std::nullopt;
  std::vector<std::pair<std::string, Expr>> where;
  if (near == 2) {
    auto symbol = general->upper.asVariable();
    if (!symbol || general->lower.mentions(*symbol)) return std::nullopt;
    where.emplace_back(*symbol, 0);
  }
  auto source = pattern.program.substitute({where.begin(), where.end()});
  auto banded = source ? BandReader(*source).read() : std::nullopt;
  if (!banded) return std::nullopt;
  auto program = BlockWriter(*source, *banded, m, near).write();
  if (!program) return std::nullopt;
  Template made{fmt::format("blocks-{}{}", m, near == 2 ? "-below" : ""),
                banded->softmax ? "attention-in-blocks" : "product-in-blocks", where, classOf(pattern, where, *program),
                *program};
  for (const Expr& reach : {banded->lower, banded->upper}) {
    made.shapes.require(Constraint::le(0, reach));
    made.shapes.require(Constraint::le(reach, m));
  }
  return made;
}

}  // namespace

std::vector<Template> blockTemplates(const Pattern& pattern) {
  std::vector<Template> templates;
  for (int64_t near : {2, 3}) {
    for (int64_t m : kRows) {
      if (auto made = blockTemplate(pattern, m, near)) templates.push_back(std::move(*made));
    }
  }
  return templates;
}

}  // namespace pet
