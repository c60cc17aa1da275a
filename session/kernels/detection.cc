// NonMaxSuppression, RoiAlign.

#include <algorithm>
#include <cmath>

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

/// The intersection by the union; 0 of boxes without an area.
float overlap(const Corners& a, const Corners& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  const float shared = width * height, all = a.area() + b.area() - shared;
  return all <= 0 ? 0 : shared / all;
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
  std::vector<Corners> chosen;
  for (int64_t i : order) {
    if (std::ssize(stay) >= by.most) break;
    const Corners box = cornersOf(boxes + 4 * i, by.centred);
    auto covers = [&](const Corners& other) { return overlap(box, other) > by.overlap; };
    if (std::any_of(chosen.begin(), chosen.end(), covers)) continue;
    stay.push_back(i);
    chosen.push_back(box);
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

  /// The mean over each bin of one channel.
  void align(const float* map, int64_t bins, float* y) const {
    const Between* place = places.data();
    for (int64_t bin = 0; bin < bins; ++bin) {
      float sum = 0;
      for (int64_t i = 0; i < each; ++i, ++place) {
        for (size_t c = 0; c < 4; ++c)
          sum += place->by[c] * map[place->at[c]];
      }
      y[bin] = sum / static_cast<float>(std::max<int64_t>(each, 1));
    }
  }
};

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
  float* out = y.data;
  for (int64_t r = 0; r < rois.extents[0]; ++r) {
    const int64_t n = batch.at(static_cast<size_t>(r));
    if (n < 0 || n >= x.extents[0]) throw BadNode{"a region of an image that is not there"};
    const RoiPlaces places(height, width, dataOf<float>(rois).data() + 4 * r, grid);
    for (int64_t c = 0; c < channels; ++c, out += grid.height * grid.width)
      places.align(dataOf<float>(x).data() + (n * channels + c) * height * width, grid.height * grid.width, out);
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
