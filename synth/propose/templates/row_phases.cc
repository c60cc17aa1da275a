#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/program_writer.h"
#include "synth/propose/templates/template.h"

namespace pet {
namespace {

/// An index map that reads rows at constant distances: out[…, i, …, j, …] = in[…, i + d j + …, …].
struct SpreadRows {
  int node;
  Expr rows;
  int64_t distance;
};

/// The dimension of a tensor that is its rows.
std::optional<size_t> rowDim(const Shape& s, const Expr& rows) {
  auto it = std::find(s.begin(), s.end(), Dim(rows));
  if (it == s.end() || std::find(it + 1, s.end(), Dim(rows)) != s.end()) return std::nullopt;
  return static_cast<size_t>(it - s.begin());
}

/// The map's axis of rows, and the only other axis of which the row that is read depends, at a constant distance > 1.
std::optional<SpreadRows> spreadRows(const Program& p, int node) {
  const Node& n = p.nodes()[static_cast<size_t>(node)];
  if (!n.is(ops::kIndexMap)) return std::nullopt;
  const auto& map = std::get<IndexMapSpec>(n.attributes.find("map")->second);
  for (const auto& source : map.source) {
    if (source.size() != 1 || source[0].hasDivision()) continue;
    std::optional<SpreadRows> found;
    int64_t distance = 0;
    for (const auto& dim : map.dims) {
      for (const LayoutAxis& a : dim) {
        int64_t c = source[0].coefficient(a.name);
        if (c == 1 && dim.size() == 1) found = SpreadRows{node, a.extent.affine(), 0};
        if (c > 1) distance = c;
      }
    }
    if (!found || distance == 0) continue;
    found->distance = distance;
    return found;
  }
  return std::nullopt;
}

/// Every value of a program with its rows' phases as a dimension in front, and d times fewer rows.
class PhaseWriter {
 public:
  PhaseWriter(const Program& p, const SpreadRows& spread)
      : p_(p), spread_(spread), fewer_(ceilDiv(spread.rows, spread.distance)), form_(p) {}

  /// Nullopt: an operator that does more than to pass the rows on.
  std::optional<Program> write() && {
    std::vector<Value> phases;
    for (int i = 0; i < static_cast<int>(p_.nodes().size()); ++i) {
      auto v = p_.nodes()[static_cast<size_t>(i)].is(ops::kInput) ? ofInput(i) : ofNode(i, phases);
      if (!v) return std::nullopt;
      phases.push_back(*v);
    }
    Value y = p_.outputs()[0];
    auto dim = rowDim(p_.shape(y), spread_.rows);
    if (!dim) return std::nullopt;
    auto [whole, cut] = groups(p_.shape(y), *dim);
    Value joined = form_.layout(phases[static_cast<size_t>(y.node)], cut, whole);
    auto program = std::move(form_).finish(form_.crop(joined, *dim, {spread_.rows}));
    return program ? std::optional(std::move(*program)) : std::nullopt;
  }

 private:
  /// (…, (row phase), …) and (phase, …, row, …).
  std::pair<std::vector<AxisGroup>, std::vector<AxisGroup>> groups(const Shape& s, size_t rows) const {
    std::vector<AxisGroup> whole, cut{{{"p", spread_.distance}}};
    for (size_t d = 0; d < s.size(); ++d) {
      AxisGroup axis{{fmt::format("a{}", d), d == rows ? Dim(fewer_) : s[d]}};
      cut.push_back(axis);
      whole.push_back(d == rows ? axis + AxisGroup{{"p", spread_.distance}} : axis);
    }
    return {whole, cut};
  }

  std::optional<Value> ofInput(int node) {
    const Node& n = p_.nodes()[static_cast<size_t>(node)];
    auto dim = rowDim(n.shapes[0], spread_.rows);
    if (!dim) return std::nullopt;
    auto [whole, cut] = groups(n.shapes[0], *dim);
    Value padded = form_.pad(form_.find(n.names[0]), {{*dim, 0, fewer_ * spread_.distance - spread_.rows}});
    return form_.layout(padded, whole, cut);
  }

  std::optional<Value> ofNode(int node, const std::vector<Value>& phases) {
    const Node& n = p_.nodes()[static_cast<size_t>(node)];
    std::vector<Value> operands;
    size_t rank = p_.shape(n.operands.at(0)).size();
    for (Value v : n.operands) {
      operands.push_back(phases[static_cast<size_t>(v.node)]);
      if (p_.shape(v).size() != rank) return std::nullopt;  // would broadcast otherwise
    }
    Attributes attributes = n.attributes;
    if (n.is(ops::kIndexMap)) {
      if (node != spread_.node) return std::nullopt;
      attributes["map"] = nearer(std::get<IndexMapSpec>(n.attributes.find("map")->second));
    } else if (n.is(ops::kUnsqueeze) || n.is(ops::kSqueeze) || n.is(ops::kReduceSum)) {
      std::vector<Expr> axes;
      for (const Expr& a : n.list("axes")) {
        bool isRows =
            n.is(ops::kReduceSum) && p_.shape(n.operands[0])[static_cast<size_t>(a.constant())] == Dim(spread_.rows);
        if (isRows) return std::nullopt;
        axes.push_back(a + 1);
      }
      if (axes.empty()) return std::nullopt;
      attributes["axes"] = std::move(axes);
    } else if (!n.is(ops::kMul) && !n.is(ops::kMatMul)) {
      return std::nullopt;
    }
    return form_.add(n.op->name, std::move(operands), std::move(attributes));
  }

  /// The map on phases: the axis j moves by one row, which is one phase's next.
  IndexMapSpec nearer(IndexMapSpec map) const {
    for (auto& source : map.source) {
      if (source.size() != 1) continue;
      std::string row, tap;
      for (const auto& dim : map.dims) {
        for (const LayoutAxis& a : dim) {
          if (source[0].coefficient(a.name) == 1 && a.extent == Dim(spread_.rows)) row = a.name;
          if (source[0].coefficient(a.name) == spread_.distance) tap = a.name;
        }
      }
      if (row.empty() || tap.empty()) continue;
      if (auto rest = (source[0] - Expr::variable(row)).dividedBy(spread_.distance))
        source[0] = *rest + Expr::variable(row);
    }
    for (auto& dim : map.dims) {
      if (dim.size() == 1 && dim[0].extent == Dim(spread_.rows)) dim[0].extent = Dim(fewer_);
    }
    map.dims.insert(map.dims.begin(), {{"phase", Dim(spread_.distance)}});
    map.source.insert(map.source.begin(), {Expr::variable("phase")});
    return map;
  }

  const Program& p_;
  const SpreadRows& spread_;
  const Expr fewer_;
  ProgramWriter form_;
};

}  // namespace

std::vector<Template> rowPhaseTemplates(const Pattern& pattern) {
  const Program& p = pattern.program;
  if (p.outputs().size() != 1) return {};
  for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
    auto spread = spreadRows(p, i);
    if (!spread) continue;
    auto program = PhaseWriter(p, *spread).write();
    if (!program) return {};
    return {{fmt::format("phases-{}", spread->distance), "phases", {}, classOf(pattern, {}, *program), *program}};
  }
  return {};
}

}  // namespace pet
