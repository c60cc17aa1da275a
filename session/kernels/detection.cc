// NonMaxSuppression, RoiAlign.

#include <algorithm>
#include <cmath>
#include <map>

#include "ir/wide_loops.h"
#include "session/kernels/node_call.h"

namespace pet::session {
namespace {

// --- NonMaxSuppression ---

struct Corners {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

Corners cornersOf(const float* box, bool centred) {
  if (centred) return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]), std::max(box[0], box[2])};
}

/// Boxes side by side, as loops over them want it.
class Chosen {
 public:
  void add(const Corners& box) {
    left_.push_back(box.left);
    top_.push_back(box.top);
    right_.push_back(box.right);
    bottom_.push_back(box.bottom);
    area_.push_back(box.area());
  }

  /// One of them and the box have more in common than `most`: the intersection by the union, 0 of boxes without an
  /// area.
  bool cover(const Corners& box, float most) const {
    constexpr size_t kBlock = 256;
    for (size_t i = 0; i < left_.size(); i += kBlock) {
      if (coverWithin(*this, box, most, i, std::min(i + kBlock, left_.size()))) return true;
    }
    return false;
  }

 private:
  static bool coverWithin(const Chosen& c, const Corners& box, float most, size_t begin, size_t end);

  std::vector<float> left_, top_, right_, bottom_, area_;
};

PET_WIDE_LOOPS bool Chosen::coverWithin(const Chosen& c, const Corners& box, float most, size_t begin, size_t end) {
  const float *left = c.left_.data(), *top = c.top_.data(), *right = c.right_.data(), *bottom = c.bottom_.data();
  const float *area = c.area_.data(), own = box.area();
  int found = 0;
  for (size_t i = begin; i < end; ++i) {
    const float width = (right[i] < box.right ? right[i] : box.right) - (left[i] > box.left ? left[i] : box.left);
    const float height = (bottom[i] < box.bottom ? bottom[i] : box.bottom) - (top[i] > box.top ? top[i] : box.top);
    const float shared = width * height, all = own + area[i] - shared;
    const bool has = (width > 0) & (height > 0) & (own > 0) & (area[i] > 0) & (all > 0);
    const float overlap = shared / all;
    found |= (has ? overlap : 0.0F) > most;
  }
  return found != 0;
}

struct Suppression {
  int64_t most;
  float overlap;
  std::optional<float> score;
  bool centred;
};

/// The boxes of one class that stay, the best first.
std::vector<int64_t> kept(const float* boxes, const float* scores, int64_t count, const Suppression& by) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i) {
    if (!by.score || scores[i] > *by.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> stay;
  Chosen chosen;
  for (int64_t i : order) {
    if (std::ssize(stay) >= by.most) break;
    const Corners box = cornersOf(boxes + 4 * i, by.centred);
    if (chosen.cover(box, by.overlap)) continue;
    stay.push_back(i);
    chosen.add(box);
  }
  return stay;
}

std::vector<Constant> runNonMaxSuppression(const NodeCall& call) {
  const Constant &boxes = call.operand(0), &scores = call.operand(1);
  if (boxes.extents.size() != 3 || boxes.extents[2] != 4 || scores.extents.size() != 3)
    throw BadNode{"boxes of [N, M, 4] and scores of [N, C, M] are needed"};
  const int64_t batches = scores.extents[0], classes = scores.extents[1], count = scores.extents[2];
  if (boxes.extents[0] != batches || boxes.extents[1] != count) throw BadNode{"as many scores as boxes are needed"};
  Suppression by{call.has(2) ? call.scalar(2) : 0, 0, std::nullopt, call.integer("center_point_box", 0) != 0};
  if (call.has(3)) by.overlap = dataOf<float>(call.operand(3))[0];
  if (call.has(4)) by.score = dataOf<float>(call.operand(4))[0];
  std::vector<int64_t> found;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t c = 0; c < classes; ++c) {
      const float* of = dataOf<float>(scores).data() + (b * classes + c) * count;
      for (int64_t i : kept(dataOf<float>(boxes).data() + b * count * 4, of, count, by))
        found.insert(found.end(), {b, c, i});
    }
  }
  const auto rows = std::ssize(found) / 3;
  return {Constant::of(Tensor<int64_t>({rows, 3}, std::move(found)))};
}

// --- RoiAlign ---

/// A place between four pixels of a map: Σ by · map[at]. Nothing where it is outside.
struct Between {
  std::array<int64_t, 4> at{};
  std::array<float, 4> by{};
};

Between between(int64_t height, int64_t width, float y, float x) {
  if (y < -1 || y > static_cast<float>(height) || x < -1 || x > static_cast<float>(width)) return {};
  y = std::max(y, 0.0F);
  x = std::max(x, 0.0F);
  auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  if (top >= height - 1) y = static_cast<float>(top = height - 1);
  if (left >= width - 1) x = static_cast<float>(left = width - 1);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const float dy = y - static_cast<float>(top), dx = x - static_cast<float>(left);
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx}};
}

struct RoiGrid {
  int64_t height, width, ratio;  ///< of the result; samples along each side of a bin, 0: as many as it has pixels
  float scale, shift;
  bool atLeastOne;  ///< a region is a pixel at least
};

/// Where the values of one region come from, the same in every channel: `each` places for each bin.
struct RoiPlaces {
  std::vector<Between> places;
  int64_t each = 0;

  RoiPlaces(int64_t mapHeight, int64_t mapWidth, const float* roi, const RoiGrid& grid) {
    const float left = roi[0] * grid.scale - grid.shift, top = roi[1] * grid.scale - grid.shift;
    float width = roi[2] * grid.scale - grid.shift - left, height = roi[3] * grid.scale - grid.shift - top;
    if (grid.atLeastOne) {
      width = std::max(width, 1.0F);
      height = std::max(height, 1.0F);
    }
    const float binHeight = height / static_cast<float>(grid.height), binWidth = width / static_cast<float>(grid.width);
    const auto rows = grid.ratio > 0 ? grid.ratio : static_cast<int64_t>(std::ceil(binHeight));
    const auto columns = grid.ratio > 0 ? grid.ratio : static_cast<int64_t>(std::ceil(binWidth));
    each = std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0);
    for (int64_t bin = 0; bin < grid.height * grid.width; ++bin) {
      const float y = top + binHeight * static_cast<float>(bin / grid.width);
      const float x = left + binWidth * static_cast<float>(bin % grid.width);
      for (int64_t i = 0; i < each; ++i) {
        const float down = (static_cast<float>(i / columns) + 0.5F) / static_cast<float>(rows);
        const float along = (static_cast<float>(i % columns) + 0.5F) / static_cast<float>(columns);
        places.push_back(between(mapHeight, mapWidth, y + binHeight * down, x + binWidth * along));
      }
    }
  }
};

/// sums[c] = Σ over places of one bin, of maps [position, channel].
PET_WIDE_LOOPS void sumBin(const Between* places, int64_t count, const float* maps, int64_t channels, float* sums) {
  std::fill_n(sums, channels, 0.0F);
  for (int64_t i = 0; i < count; ++i) {
    const auto& [at, by] = places[i];
    const float *p = maps + at[0] * channels, *q = maps + at[1] * channels;
    const float *r = maps + at[2] * channels, *s = maps + at[3] * channels;
    for (int64_t c = 0; c < channels; ++c)
      sums[c] = sums[c] + by[0] * p[c] + by[1] * q[c] + by[2] * r[c] + by[3] * s[c];
  }
}

/// [positions, channels] of [channels, positions], in blocks that stay in the first-level cache.
std::vector<float> channelsLast(const float* maps, int64_t channels, int64_t positions) {
  constexpr int64_t kBlock = 16;
  std::vector<float> turned(static_cast<size_t>(channels * positions));
  for (int64_t first = 0; first < positions; first += kBlock) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t v = first; v < std::min(first + kBlock, positions); ++v)
        turned[static_cast<size_t>(v * channels + c)] = maps[c * positions + v];
    }
  }
  return turned;
}

std::vector<Constant> runRoiAlign(const NodeCall& call) {
  const Constant &x = call.operand(0), &rois = call.operand(1);
  if (x.element != ElementType::kFloat) throw BadNode{"it is for float32"};
  if (x.extents.size() != 4 || rois.extents.size() != 2 || rois.extents[1] != 4)
    throw BadNode{"maps of [N, C, H, W] and regions of [R, 4] are needed"};
  if (call.text("mode", "avg") != "avg") throw BadNode{"only the mode avg is computed"};
  const bool half = call.opset() >= 16 && call.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const RoiGrid grid{call.integer("output_height", 1),
                     call.integer("output_width", 1),
                     call.integer("sampling_ratio", 0),
                     static_cast<float>(call.number("spatial_scale", 1)),
                     half ? 0.5F : 0.0F,
                     !half};
  const auto batch = integersOf(call.operand(2));
  const int64_t channels = x.extents[1], height = x.extents[2], width = x.extents[3];
  Made<float> y = make<float>(x.element, {rois.extents[0], channels, grid.height, grid.width});
  const int64_t bins = grid.height * grid.width;
  std::map<int64_t, std::vector<float>> images;
  std::vector<float> sums(static_cast<size_t>(channels));
  float* out = y.data;
  for (int64_t r = 0; r < rois.extents[0]; ++r, out += channels * bins) {
    const int64_t n = batch.at(static_cast<size_t>(r));
    if (n < 0 || n >= x.extents[0]) throw BadNode{"a region of an image that is not there"};
    const RoiPlaces places(height, width, dataOf<float>(rois).data() + 4 * r, grid);
    auto [image, isNew] = images.try_emplace(n);
    if (isNew) {
      image->second = channelsLast(dataOf<float>(x).data() + n * channels * height * width, channels, height * width);
    }
    for (int64_t bin = 0; bin < bins; ++bin) {
      sumBin(places.places.data() + bin * places.each, places.each, image->second.data(), channels, sums.data());
      for (int64_t c = 0; c < channels; ++c)
        out[c * bins + bin] = sums[static_cast<size_t>(c)] / static_cast<float>(std::max<int64_t>(places.each, 1));
    }
  }
  return {y.constant};
}

const KernelRow kDetectionKernels[] = {
    {"NonMaxSuppression", runNonMaxSuppression, true, -1},
    {"RoiAlign", runRoiAlign},
};

}  // namespace

std::span<const KernelRow> detectionKernels() {
  return kDetectionKernels;
}

}  // namespace pet::session
