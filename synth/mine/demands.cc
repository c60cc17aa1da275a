#include "synth/mine/demands.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace pet::mine {
namespace {

using Letters = std::vector<std::string>;

/// Names by rank, where no operator says more.
Letters commonLetters(size_t rank) {
  if (rank == 2) return {"M", "K"};
  if (rank == 3) return {"B", "M", "K"};
  Letters all{"N", "C"};
  Letters spatial = rank == 5 ? Letters{"D", "H", "W"} : rank == 4 ? Letters{"H", "W"} : Letters(rank, "E");
  all.insert(all.end(), spatial.begin(), spatial.end());
  if (rank == 1) all = {"C"};
  all.resize(rank);
  return all;
}

/// Of the images of a Conv.
Letters imageLetters(size_t spatial) {
  return spatial == 1 ? Letters{"N", "C", "W"} : commonLetters(spatial + 2);
}

std::string letterOf(size_t axis, size_t spatial, const Letters& letters) {
  if (spatial == 1) return letters.back();
  return axis + letters.size() < spatial ? "E" : letters[letters.size() + axis - spatial];
}

// --- Position by position ---

/// Operands are aligned at the last dimension; an extent of 1 next to a larger one is that of a broadcast and stays. So
/// does one of a constant: it holds whatever the other one is.
void broadcast(Step& s, const std::vector<size_t>& operands, size_t last = 0) {
  size_t rank = 0;
  for (size_t i : operands)
    rank = std::max(rank, s.rank(i));
  auto at = [&](size_t i, size_t fromEnd) { return s.rank(i) - fromEnd; };
  std::vector<int64_t> largest(rank + 1, 1);
  for (size_t i : operands) {
    for (size_t e = 1; e <= s.rank(i); ++e)
      largest[e] = std::max(largest[e], s.extent(i, at(i, e)));
  }
  for (size_t i : operands) {
    if (!s.isOpen(i)) continue;
    Letters letters = commonLetters(rank);
    letters.erase(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(rank - s.rank(i)));
    for (size_t e = 1; e <= s.rank(i); ++e) {
      bool stays = s.extent(i, at(i, e)) == 1 && (s.operands[i].constant || largest[e] > 1);
      if (stays && e > last) letters[at(i, e)] = "1";
    }
    s.enter(i, letters);
  }
  for (size_t e = last + 1; e <= rank; ++e) {
    const Dim* first = nullptr;
    for (size_t i : operands) {
      if (s.rank(i) < e || s.dim(i, at(i, e)) == Dim(1)) continue;
      const Dim& d = s.dim(i, at(i, e));
      if (s.extent(i, at(i, e)) < largest[e]) {
        s.pin(i, at(i, e));
      } else if (first) {
        s.equal(*first, d);
      } else {
        first = &d;
      }
    }
  }
}

void demandElementwise(Step& s) {
  std::vector<size_t> all(s.operands.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  // What has a shape already says what the others are called.
  broadcast(s, all);
}

// --- Windows ---

/// Unknown pads, at both ends alike where they are in the model.
void freshPads(Step& s, size_t spatial) {
  Extents pads = s.numbers("pads");
  std::vector<Expr> result(2 * spatial);
  for (size_t d = 0; d < spatial; ++d) {
    std::string letter = letterOf(d, spatial, {"O", "P", "Q"});
    result[d] = s.fresh(letter, pads[d], 0);
    result[spatial + d] = pads[spatial + d] == pads[d] ? result[d] : s.fresh(letter + "E", pads[spatial + d], 0);
  }
  s.attributes.insert_or_assign("pads", result);
}

bool isPointwise(const Step& s) {
  const Extents& w = s.operands[1].extents;
  Extents pads = s.numbers("pads");
  return s.choice.pointwise && std::all_of(w.begin() + 2, w.end(), [](int64_t e) { return e == 1; }) &&
         std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
}

Letters kernelLetters(const Step& s, std::string outer, std::string inner) {
  Letters letters{std::move(outer), std::move(inner)};
  size_t spatial = s.rank(1) - 2;
  for (size_t d = 0; d < spatial; ++d)
    letters.push_back(isPointwise(s) ? "1" : letterOf(d, spatial, {"T", "R", "S"}));
  return letters;
}

/// The channels of an operand are so many groups of equal size.
void demandGroups(Step& s, const Dim& channels, int64_t extent, int64_t groups, const std::string& letter) {
  Expr each = s.fresh(letter, extent / groups);
  s.equal(channels, each * groups);
}

void demandConv(Step& s) {
  size_t spatial = s.rank(0) - 2;
  int64_t group = s.number("group"), channels = s.extent(0, 1), kernels = s.extent(1, 0);
  bool depthwise = group > 1 && group == channels;
  if (s.isOpen(0)) s.enter(0, imageLetters(spatial));
  if (s.isOpen(1)) s.enter(1, kernelLetters(s, "F", depthwise ? "1" : "C"));
  if (group == 1) {
    s.equal(s.dim(0, 1), s.dim(1, 1));
  } else if (depthwise) {
    s.equal(s.dim(1, 0), Dim::product({kernels / group, s.dim(0, 1)}));
    if (s.dim(0, 1).isAffine()) s.attributes.insert_or_assign("group", s.dim(0, 1).affine());
  } else {
    s.equal(s.dim(0, 1), Dim::product({group, s.dim(1, 1)}));
    demandGroups(s, s.dim(1, 0), kernels, group, "F");
  }
  if (!isPointwise(s)) freshPads(s, spatial);
}

void demandConvTranspose(Step& s) {
  size_t spatial = s.rank(0) - 2;
  int64_t group = s.number("group");
  bool depthwise = group > 1 && group == s.extent(0, 1);
  if (s.isOpen(0)) s.enter(0, imageLetters(spatial));
  if (s.isOpen(1)) s.enter(1, kernelLetters(s, "C", depthwise && s.extent(1, 1) == 1 ? "1" : "F"));
  s.equal(s.dim(0, 1), s.dim(1, 0));
  if (depthwise && s.dim(0, 1).isAffine()) {
    s.attributes.insert_or_assign("group", s.dim(0, 1).affine());
  } else if (group > 1) {
    demandGroups(s, s.dim(0, 1), s.extent(0, 1), group, "C");
  }
  if (!isPointwise(s)) freshPads(s, spatial);
}

void demandImages(Step& s) {
  if (s.isOpen(0)) s.enter(0, imageLetters(s.rank(0) - 2));
}

// --- Matrices ---

void demandMatMul(Step& s) {
  if (s.rank(0) < 2 || s.rank(1) < 2) return;
  auto enter = [&](size_t i, const Letters& matrix) {
    if (!s.isOpen(i)) return;
    Letters letters(s.rank(i) - 2, "B");
    for (size_t d = 0; d < letters.size(); ++d) {
      size_t fromEnd = s.rank(i) - d, other = 1 - i;
      bool against = s.rank(other) >= fromEnd && s.extent(other, s.rank(other) - fromEnd) > 1;
      if (s.extent(i, d) == 1 && (s.operands[i].constant || against)) letters[d] = "1";
    }
    letters.insert(letters.end(), matrix.begin(), matrix.end());
    s.enter(i, letters);
  };
  enter(0, {"M", "K"});
  enter(1, {"K", "N"});
  s.equal(s.dim(0, s.rank(0) - 1), s.dim(1, s.rank(1) - 2));
  broadcast(s, {0, 1}, 2);
}

void demandGemm(Step& s) {
  bool ta = s.number("transA") != 0, tb = s.number("transB") != 0;
  if (s.isOpen(0)) s.enter(0, ta ? Letters{"K", "M"} : Letters{"M", "K"});
  if (s.isOpen(1)) s.enter(1, tb ? Letters{"N", "K"} : Letters{"K", "N"});
  s.equal(s.dim(0, ta ? 0 : 1), s.dim(1, tb ? 1 : 0));
  if (s.operands.size() < 3) return;
  const Dim result[] = {s.dim(0, ta ? 1 : 0), s.dim(1, tb ? 0 : 1)};
  size_t rank = s.rank(2);
  if (s.isOpen(2)) {
    Letters letters;
    for (size_t d = 0; d < rank; ++d)
      letters.emplace_back(s.extent(2, d) == 1 ? "1" : "N");
    s.enter(2, letters);
  }
  for (size_t d = 0; d < rank; ++d) {
    if (s.extent(2, d) == 1) {
      s.pin(2, d);
    } else {
      s.equal(result[2 - rank + d], s.dim(2, d));
    }
  }
}

// --- Normalisations ---

/// One value per channel.
void demandPerChannel(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  for (size_t i = 1; i < s.operands.size(); ++i) {
    if (s.isOpen(i)) s.enter(i, {"C"});
    s.equal(s.dim(0, 1), s.dim(i, 0));
  }
}

void demandFromAxis(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  std::vector<size_t> operands{0};
  for (size_t i = 1; i < s.operands.size(); ++i)
    operands.push_back(i);
  broadcast(s, operands);
}

// --- Layouts ---

void demandConcat(Step& s) {
  auto axis = static_cast<size_t>(s.number("axis"));
  for (size_t i = 0; i < s.operands.size(); ++i) {
    if (s.isOpen(i)) s.enter(i, commonLetters(s.rank(i)));
    for (size_t d = 0; d < s.rank(i); ++d) {
      if (d != axis) s.equal(s.dim(0, d), s.dim(i, d));
    }
  }
}

void demandSplit(Step& s) {
  auto axis = static_cast<size_t>(s.number("axis"));
  bool open = s.isOpen(0);
  if (open) s.enter(0, commonLetters(s.rank(0)));
  std::vector<Expr> parts;
  Expr sum;
  for (int64_t part : s.numbers("split")) {
    parts.push_back(s.fresh(commonLetters(s.rank(0))[axis], part));
    sum += parts.back();
  }
  if (open) {
    (*s.operands[0].shape)[axis] = sum;
  } else {
    s.equal(s.dim(0, axis), sum);
  }
  s.attributes.insert_or_assign("split", parts);
}

/// The first dimension of operand and result, where both are 1, is the batch: one axis instead of one on either side.
void joinBatch(LayoutSpec& layout) {
  if (layout.left.empty() || layout.right.empty() || layout.left[0].size() != 1 || layout.right[0].size() != 1) return;
  int left = layout.left[0][0], right = layout.right[0][0];
  auto isOne = [&](int axis) { return layout.axes[static_cast<size_t>(axis)].extent == Dim(1); };
  if (left == right || !isOne(left) || !isOne(right)) return;
  layout.axes.erase(layout.axes.begin() + right);
  layout.right[0][0] = left;
  for (auto* side : {&layout.left, &layout.right}) {
    for (auto& group : *side) {
      for (int& axis : group)
        axis -= axis > right;
    }
  }
}

/// Axes by their places: layouts that are equal up to names are equal.
LayoutSpec renamed(LayoutSpec layout) {
  int next = 0;
  for (const auto* side : {&layout.left, &layout.right}) {
    for (const auto& group : *side) {
      for (int axis : group) {
        std::string& name = layout.axes[static_cast<size_t>(axis)].name;
        if (name.front() != '#') name = fmt::format("#{}", next++);
      }
    }
  }
  for (LayoutAxis& axis : layout.axes)
    axis.name.front() = 'a';
  return layout;
}

void demandLayout(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  auto layout = std::get<LayoutSpec>(s.attributes.find("layout")->second);
  joinBatch(layout);
  std::set<int> onRight;
  for (const auto& group : layout.right)
    onRight.insert(group.begin(), group.end());
  for (size_t d = 0; d < layout.left.size(); ++d) {
    const auto& group = layout.left[d];
    std::vector<Dim> factors;
    for (int axis : group) {
      Dim& extent = layout.axes[static_cast<size_t>(axis)].extent;
      if (group.size() == 1 && onRight.contains(axis)) {
        extent = s.dim(0, d);
      } else if (extent != Dim(1)) {
        extent = s.fresh("E", *extent.asConstant());
      }
      factors.push_back(extent);
    }
    s.equal(s.dim(0, d), Dim::product(factors));
  }
  s.attributes.insert_or_assign("layout", renamed(std::move(layout)));
}

/// To the end stays to the end.
void demandSlice(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  Extents axes = s.numbers("axes"), ends = s.numbers("ends");
  std::vector<Expr> result(ends.begin(), ends.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    auto d = static_cast<size_t>(axes[i]);
    if (ends[i] == s.extent(0, d) && s.dim(0, d).isAffine()) result[i] = s.dim(0, d).affine();
  }
  s.attributes.insert_or_assign("ends", result);
}

void demandPad(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  Extents pads = s.numbers("pads");
  size_t rank = s.rank(0);
  std::vector<Expr> result(pads.begin(), pads.end());
  for (size_t d = 0; d < rank; ++d) {
    std::string letter = letterOf(d, rank, {"P", "Q"});
    if (pads[d] > 0) result[d] = s.fresh(letter, pads[d], 0);
    if (pads[rank + d] > 0)
      result[rank + d] = pads[d] == pads[rank + d] ? result[d] : s.fresh(letter + "E", pads[rank + d], 0);
  }
  s.attributes.insert_or_assign("pads", result);
}

/// So many times the extent stays so many times the extent.
void demandResize(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  Extents sizes = s.numbers("sizes");
  std::vector<Expr> result(sizes.begin(), sizes.end());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] % s.extent(0, d) == 0 && s.dim(0, d).isAffine()) {
      result[d] = s.dim(0, d).affine() * (sizes[d] / s.extent(0, d));
    } else {
      s.pin(0, d);
    }
  }
  s.attributes.insert_or_assign("sizes", result);
}

void demandDepthToSpace(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  int64_t block = s.number("blocksize");
  demandGroups(s, s.dim(0, 1), s.extent(0, 1), block * block, "C");
}

void demandSpaceToDepth(Step& s) {
  if (s.isOpen(0)) s.enter(0, commonLetters(s.rank(0)));
  int64_t block = s.number("blocksize");
  for (size_t d : {2, 3})
    demandGroups(s, s.dim(0, d), s.extent(0, d), block, d == 2 ? "H" : "W");
}

struct Row {
  std::string_view op;
  void (*demand)(Step&);
};
constexpr Row kRows[] = {
    {"Add", demandElementwise},
    {"Sub", demandElementwise},
    {"Mul", demandElementwise},
    {"Div", demandElementwise},
    {"PRelu", demandElementwise},
    {"Max", demandElementwise},
    {"Where", demandElementwise},
    {"Greater", demandElementwise},
    {"Conv", demandConv},
    {"ConvTranspose", demandConvTranspose},
    {"MaxPool", demandImages},
    {"AveragePool", demandImages},
    {"GlobalMaxPool", demandImages},
    {"GlobalAveragePool", demandImages},
    {"MatMul", demandMatMul},
    {"Gemm", demandGemm},
    {"BatchNormalization", demandPerChannel},
    {"InstanceNormalization", demandPerChannel},
    {"LayerNormalization", demandFromAxis},
    {"RMSNormalization", demandFromAxis},
    {"Concat", demandConcat},
    {"Split", demandSplit},
    {"Layout", demandLayout},
    {"Slice", demandSlice},
    {"Pad", demandPad},
    {"Resize", demandResize},
    {"DepthToSpace", demandDepthToSpace},
    {"SpaceToDepth", demandSpaceToDepth},
};

}  // namespace

Extents Step::numbers(std::string_view attribute) const {
  Extents values;
  for (const Expr& e : node.list(attribute))
    values.push_back(*e.asConstant());
  return values;
}

void Step::enter(size_t i, const std::vector<std::string>& letters) {
  Shape shape;
  for (size_t d = 0; d < rank(i); ++d) {
    bool stays = letters[d] == "1" && extent(i, d) == 1;
    shape.push_back(stays ? Dim(1) : Dim(fresh(letters[d] == "1" ? "E" : letters[d], extent(i, d))));
  }
  operands[i].shape = std::move(shape);
}

void Step::equal(const Dim& a, const Dim& b) {
  if (unknowns_.equate(a, b)) return;
  unknowns_.pin(a);
  unknowns_.pin(b);
}

void demand(Step& step) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == step.node.op->name; });
  if (row != std::end(kRows)) row->demand(step);
  for (size_t i = 0; i < step.operands.size(); ++i) {
    if (step.isOpen(i)) step.enter(i, commonLetters(step.rank(i)));
  }
}

}  // namespace pet::mine
