// Operators that move a window over the spatial dimensions of x[n, c, …]: convolutions and pooling.

#include <algorithm>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// The window's attributes, one entry for each spatial dimension.
struct SlidingWindow {
  std::vector<int64_t> strides, dilations, padsBefore, padsAfter;
  std::string autoPad = "NOTSET";
};

std::vector<int64_t> perDimension(NodeInference& n, std::string_view name, size_t spatial, int64_t fallback) {
  auto list = n.integers(name);
  if (!list || list->empty()) return std::vector<int64_t>(spatial, fallback);
  if (list->size() != spatial)
    NodeInference::invalid(fmt::format("{} has {} entries for {} spatial dimensions", name, list->size(), spatial));
  return *list;
}

std::vector<int64_t> positivePerDimension(NodeInference& n, std::string_view name, size_t spatial) {
  auto list = perDimension(n, name, spatial, 1);
  if (std::any_of(list.begin(), list.end(), [](int64_t k) { return k < 1; }))
    NodeInference::invalid(fmt::format("{} below 1", name));
  return list;
}

SlidingWindow readSlidingWindow(NodeInference& n, size_t spatial) {
  SlidingWindow w;
  w.strides = positivePerDimension(n, "strides", spatial);
  w.dilations = positivePerDimension(n, "dilations", spatial);
  auto pads = n.integers("pads");
  if (!pads || pads->empty()) pads = std::vector<int64_t>(2 * spatial, 0);
  if (pads->size() != 2 * spatial)
    NodeInference::invalid(fmt::format("pads has {} entries for {} spatial dimensions", pads->size(), spatial));
  auto middle = pads->begin() + static_cast<std::ptrdiff_t>(spatial);
  w.padsBefore.assign(pads->begin(), middle);
  w.padsAfter.assign(middle, pads->end());
  w.autoPad = n.text("auto_pad", "NOTSET");
  if (w.autoPad.empty()) w.autoPad = "NOTSET";
  if (w.autoPad != "NOTSET") {
    w.padsBefore.assign(spatial, 0);
    w.padsAfter.assign(spatial, 0);
  }
  return w;
}

bool isSame(const SlidingWindow& w) {
  return w.autoPad == "SAME_UPPER" || w.autoPad == "SAME_LOWER";
}

/// d(k - 1) + 1: what a dilated kernel of extent k covers.
Dim covered(NodeInference& n, const Dim& kernel, int64_t dilation) {
  Sizes& s = n.sizes();
  return s.add(s.multiply(s.subtract(kernel, Dim(1)), Dim(dilation)), Dim(1));
}

// With ceil_mode a window that starts in the padding behind is left out: the last start lies before extent +
// padsBefore.
Dim roundedUp(NodeInference& n, const Dim& extent, const Dim& room, const SlidingWindow& w, size_t i) {
  Sizes& s = n.sizes();
  Dim count = s.add(s.ceilDivide(room, w.strides[i]), Dim(1));
  auto k = count.asConstant(), e = extent.asConstant();
  if (k && e)
    return *k > 0 && checkedMul(*k - 1, w.strides[i]) >= checkedAdd(*e, w.padsBefore[i]) ? Dim(*k - 1) : count;
  // The last start is at most room + stride - 1.
  Dim bound = s.subtract(s.add(extent, Dim(w.padsBefore[i])), s.add(room, Dim(w.strides[i] - 1)));
  return s.least(bound) >= 1 ? count : n.open();
}

/// x + pads - covered: where the last window may start.
Dim roomOf(NodeInference& n, const Dim& extent, const Dim& kernel, const SlidingWindow& w, size_t i) {
  Sizes& s = n.sizes();
  Dim padded = s.add(extent, Dim(checkedAdd(w.padsBefore[i], w.padsAfter[i])));
  return s.subtract(padded, covered(n, kernel, w.dilations[i]));
}

/// y = floor(room/stride) + 1; with auto_pad SAME ceil(x/stride).
Dim windowExtent(NodeInference& n, const Dim& extent, const Dim& kernel, const SlidingWindow& w, size_t i, bool ceil) {
  Sizes& s = n.sizes();
  if (isSame(w)) return s.ceilDivide(extent, w.strides[i]);
  const Dim room = roomOf(n, extent, kernel, w, i);
  if (auto k = room.asConstant(); k && *k < 0) return n.open();  // engines differ
  // In one sum, since a product of symbols has room for no other.
  if (auto k = kernel.asConstant(); k && w.strides[i] == 1) {
    const int64_t pads = checkedAdd(w.padsBefore[i], w.padsAfter[i]);
    return s.add(extent, Dim(checkedAdd(pads, -checkedMul(w.dilations[i], *k - 1))));
  }
  if (ceil && w.strides[i] > 1) return roundedUp(n, extent, room, w, i);
  return s.add(s.floorDivide(room, w.strides[i]), Dim(1));
}

size_t spatialDimensions(const Shape& x) {
  if (x.size() < 2) NodeInference::invalid(fmt::format("moves a window over a tensor of {} dimensions", x.size()));
  return x.size() - 2;
}

/// The kernel's extents: the attribute, or those of the weights' shape `w`, which have to agree.
Shape kernelOf(NodeInference& n, size_t spatial, const Shape* w) {
  auto given = n.integers("kernel_shape");
  if (given && given->empty()) given.reset();
  if (given && given->size() != spatial)
    NodeInference::invalid(
        fmt::format("kernel_shape has {} entries for {} spatial dimensions", given->size(), spatial));
  if (given && std::any_of(given->begin(), given->end(), [](int64_t k) { return k < 1; }))
    NodeInference::invalid("kernel_shape below 1");
  if (!given && !w) NodeInference::nothing();
  Shape kernel;
  for (size_t i = 0; i < spatial; ++i) {
    if (given && w) n.requireEqual(Dim((*given)[i]), (*w)[2 + i], "kernel_shape and the weights differ");
    kernel.push_back(given ? Dim((*given)[i]) : (*w)[2 + i]);
  }
  return kernel;
}

int64_t groupOf(NodeInference& n) {
  int64_t group = n.integer("group", 1);
  if (group < 1) NodeInference::invalid(fmt::format("group is {}", group));
  return group;
}

/// Throws InvalidNode unless group divides the channels.
void requireDivides(int64_t group, const Dim& channels, std::string_view what) {
  auto k = channels.asConstant();
  if (k && *k % group != 0) NodeInference::invalid(fmt::format("{} groups do not divide {} {}", group, *k, what));
}

/// A convolution of operand `x` with operand `w`[f, c/group, …].
void convolve(NodeInference& n, size_t x, size_t w) {
  const int64_t group = groupOf(n);
  const Shape* weights = n.hasShape(w) ? &n.shape(w) : nullptr;
  if (!n.hasShape(x)) {
    if (weights) n.setShape(0, n.open(weights->size()));
    return;
  }
  const Shape& images = n.shape(x);
  const size_t spatial = spatialDimensions(images);
  n.requireRank(w, images.size());
  SlidingWindow window = readSlidingWindow(n, spatial);
  if (weights) {
    n.requireEqual(images[1], n.sizes().multiply((*weights)[1], Dim(group)),
                   "the channels of images and weights times groups differ");
    requireDivides(group, (*weights)[0], "feature maps");
  }
  requireDivides(group, images[1], "channels");
  Shape y{images[0], weights ? (*weights)[0] : n.open()};
  Shape kernel = kernelOf(n, spatial, weights);
  for (size_t i = 0; i < spatial; ++i) {
    y.push_back(windowExtent(n, images[2 + i], kernel[i], window, i, false));
    if (isSame(window)) continue;
    // A convolution runs only where its kernel fits. A pool may run with a part of a window.
    n.requirePositive(n.sizes().add(roomOf(n, images[2 + i], kernel[i], window, i), Dim(1)));
    n.requirePositive(y.back());
  }
  n.setShape(0, std::move(y));
}

void requireBias(NodeInference& n, size_t i, const Dim& features) {
  if (!n.has(i) || !n.hasShape(i)) return;
  n.requireRank(i, 1);
  n.requireEqual(n.shape(i)[0], features, "the bias is not as long as there are feature maps");
}

void inferConv(NodeInference& n) {
  if (n.hasShape(1) && n.rank(1) >= 2) requireBias(n, 2, n.shape(1)[0]);
  convolve(n, 0, 1);
}

void inferConvInteger(NodeInference& n) {
  convolve(n, 0, 1);
}

void inferQLinearConv(NodeInference& n) {
  if (n.hasShape(3) && n.rank(3) >= 2) requireBias(n, 8, n.shape(3)[0]);
  convolve(n, 0, 3);
}

// Operand 1 is the weights, operand 2 the offsets.
void inferDeformConv(NodeInference& n) {
  convolve(n, 0, 1);
}

// y = stride·(x - 1) + output_padding + covered - pads; output_shape and auto_pad SAME (x·stride) say it themselves.
Dim transposedExtent(NodeInference& n, const Dim& extent, const Dim& kernel, const SlidingWindow& w, size_t i) {
  Sizes& s = n.sizes();
  if (isSame(w)) return s.multiply(extent, Dim(w.strides[i]));
  Dim spread = s.multiply(s.subtract(extent, Dim(1)), Dim(w.strides[i]));
  return s.add(s.add(spread, covered(n, kernel, w.dilations[i])), Dim(-checkedAdd(w.padsBefore[i], w.padsAfter[i])));
}

void inferConvTranspose(NodeInference& n) {
  const int64_t group = groupOf(n);
  const Shape& x = n.shape(0);
  const size_t spatial = spatialDimensions(x);
  n.requireRank(1, x.size());
  const Shape* w = n.hasShape(1) ? &n.shape(1) : nullptr;
  if (w) n.requireEqual(x[1], (*w)[0], "the channels of images and weights differ");
  requireDivides(group, x[1], "channels");
  SlidingWindow window = readSlidingWindow(n, spatial);
  auto extra = perDimension(n, "output_padding", spatial, 0);
  auto given = n.integers("output_shape");
  if (given && given->size() == spatial + 2)
    given->erase(given->begin(), given->begin() + 2);  // engines take this, too
  if (given && !given->empty() && given->size() != spatial)
    NodeInference::invalid(
        fmt::format("output_shape has {} entries for {} spatial dimensions", given->size(), spatial));
  Shape y{x[0], w ? n.sizes().multiply((*w)[1], Dim(group)) : n.open()};
  Shape kernel = given && !given->empty() ? Shape(spatial, Dim(1)) : kernelOf(n, spatial, w);
  for (size_t i = 0; i < spatial; ++i) {
    y.push_back(given && !given->empty() ? Dim((*given)[i])
                                         : n.sizes().add(transposedExtent(n, x[2 + i], kernel[i], window, i),
                                                         Dim(isSame(window) ? 0 : extra[i])));
  }
  n.setShape(0, std::move(y));
}

void inferPool(NodeInference& n) {
  const Shape& x = n.shape(0);
  const size_t spatial = spatialDimensions(x);
  SlidingWindow window = readSlidingWindow(n, spatial);
  Shape kernel = kernelOf(n, spatial, nullptr);
  Shape y{x[0], x[1]};
  for (size_t i = 0; i < spatial; ++i)
    y.push_back(windowExtent(n, x[2 + i], kernel[i], window, i, n.flag("ceil_mode", false)));
  if (n.wants(1)) n.setShape(1, y);
  n.setShape(0, std::move(y));
}

// The extents that a MaxPool with these attributes had in front of it, or those that operand 2 gives.
void inferMaxUnpool(NodeInference& n) {
  const Shape& x = n.shape(0);
  const size_t spatial = spatialDimensions(x);
  if (n.has(2)) {
    auto given = n.list(2);
    if (!given || given->size() != x.size()) return n.setShape(0, n.open(x.size()));
    Shape y;
    for (const auto& d : *given)
      y.push_back(d ? *d : n.open());
    return n.setShape(0, std::move(y));
  }
  SlidingWindow window = readSlidingWindow(n, spatial);
  Shape kernel = kernelOf(n, spatial, nullptr);
  Shape y{x[0], x[1]};  // operand 1 has them, too
  for (size_t i = 0; i < 2 && n.hasShape(1) && n.rank(1) == x.size(); ++i)
    y[i] = n.sizes().sharper(x[i], n.shape(1)[i]);
  for (size_t i = 0; i < spatial; ++i)
    y.push_back(transposedExtent(n, x[2 + i], kernel[i], window, i));
  n.setShape(0, std::move(y));
}

// x[n, c·Π block, l] -> y[n, c, image…]
void inferCol2Im(NodeInference& n) {
  auto image = n.list(1);
  for (std::string_view name : {"strides", "dilations"}) {
    if (auto given = n.integers(name); given && !image) image.emplace(given->size());
  }
  if (auto pads = n.integers("pads"); pads && !image) image.emplace(pads->size() / 2);
  if (!image) NodeInference::nothing();
  Shape y = n.open(2);
  if (n.hasShape(0)) {
    const Shape& x = n.shapeOfRank(0, 3);
    y[0] = x[0];
    auto block = n.constants(2);
    if (block) {
      Dim size = 1;
      for (int64_t b : *block)
        size = n.sizes().multiply(size, Dim(b));
      y[1] = n.sizes().quotient(x[1], size);
    }
  }
  for (const auto& d : *image)
    y.push_back(d ? *d : n.open());
  n.setShape(0, std::move(y));
}

void inferMaxRoiPool(NodeInference& n) {
  auto pooled = n.integers("pooled_shape");
  if (!pooled || pooled->size() != 2) NodeInference::nothing();
  const Shape& x = n.shapeOfRank(0, 4);
  Dim regions = n.hasShape(1) ? n.shapeOfRank(1, 2)[0] : n.open();
  n.setShape(0, {regions, x[1], Dim((*pooled)[0]), Dim((*pooled)[1])});
}

// y has x's extents, the state the last k - 1 positions.
void inferCausalConv(NodeInference& n) {
  if (n.hasShape(0) && n.hasShape(1)) {
    const Shape &x = n.shapeOfRank(0, 3), &w = n.shapeOfRank(1, 3);
    n.requireEqual(x[1], w[0], "the channels of images and weights differ");
    n.setShape(1, {x[0], x[1], n.sizes().subtract(w[2], Dim(1))});
  }
  inferLikeFirst(n);
}

constexpr InferRule kWindowRules[] = {
    {"AveragePool", inferPool},
    {"CausalConvWithState", inferCausalConv},
    {"Col2Im", inferCol2Im},
    {"Conv", inferConv},
    {"ConvInteger", inferConvInteger},
    {"ConvTranspose", inferConvTranspose},
    {"DeformConv", inferDeformConv},
    {"LpPool", inferPool},
    {"MaxPool", inferPool},
    {"MaxRoiPool", inferMaxRoiPool},
    {"MaxUnpool", inferMaxUnpool},
    {"QLinearConv", inferQLinearConv},
};

}  // namespace

std::span<const InferRule> windowRules() {
  return kWindowRules;
}

}  // namespace pet
