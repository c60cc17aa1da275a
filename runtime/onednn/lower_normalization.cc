// Softmax and the normalisations.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "runtime/onednn/batch_norm.h"
#include "runtime/onednn/instance_norm.h"
#include "runtime/onednn/lanes.h"
#include "runtime/onednn/lowerings.h"
#include "runtime/onednn/softmax.h"
#include "runtime/plan/loops.h"

namespace pet::onednn {
namespace {

using dnnl::memory;
dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// Dense with these dimensions innermost, in this order; the others keep theirs.
Access innermost(const Extents& extents, size_t first, size_t count) {
  std::vector<size_t> order;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d < first || d >= first + count) order.push_back(d);
  }
  for (size_t d = first; d < first + count; ++d)
    order.push_back(d);
  return inOrder(extents, order);
}

/// The value dense, with dimensions [first, first + count) innermost.
Place withInnermost(Planner& p, Value v, size_t first, size_t count) {
  const Place& there = p.place(v);
  auto order = orderOf(there.access);
  Extents extents = there.access.extents();
  if (order) {
    std::vector<size_t> real;
    for (size_t d : *order) {
      if (extents[d] > 1) real.push_back(d);
    }
    std::vector<size_t> last;
    for (size_t d = first; d < first + count; ++d) {
      if (extents[d] > 1) last.push_back(d);
    }
    if (real.size() >= last.size() && std::equal(last.rbegin(), last.rend(), real.rbegin())) return there;
  }
  return p.as(v, innermost(extents, first, count));
}

/// The rows of a Softmax that a kernel of ours computes: those across planes of neighbours, and short ones that are no
/// whole registers (measured on a Xeon, Emerald Rapids: 1.8 to 13 and 1.2 to 11 times as fast as oneDNN 2.6's; rows of
/// 16, 32 and 64 take 0.7 to 1 times as long by oneDNN). Nothing: the value does not lie so.
std::optional<Softmax> ownSoftmax(const Access& access, size_t axis) {
  constexpr int64_t kShort = 48;
  const auto order = orderOf(access);
  if (!order) return std::nullopt;
  const Extents extents = access.extents();
  Softmax rows{1, extents[axis], 1};
  bool isBefore = true;
  for (size_t d : *order) {
    if (d == axis)
      isBefore = false;
    else
      (isBefore ? rows.outer : rows.inner) *= extents[d];
  }
  const bool isTaken = rows.inner == 1 ? rows.count < kShort && rows.count % kLanes != 0
                                       : rows.inner >= kLanes && rows.count <= Softmax::kMost;
  return isTaken ? std::optional(rows) : std::nullopt;
}

/// `Primitive`: dnnl::softmax_forward or logsoftmax_forward.
template <class Primitive>
bool lowerSoftmax(Planner& p, int n, const Epilogue&) {
  Value x = p.node(n).operands[0];
  Extents extents = p.extents(x);
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  Place from = p.place(x);
  auto rowsOfOurs = ownSoftmax(from.access, axis);
  if (!rowsOfOurs) {
    from = withInnermost(p, x, axis, 1);
    rowsOfOurs = ownSoftmax(from.access, axis);
  }
  if (rowsOfOurs) {
    rowsOfOurs->logarithm = std::is_same_v<Primitive, dnnl::logsoftmax_forward>;
    Place to = p.overOrLike(from);
    p.emit(std::make_unique<KernelStep>(
        std::vector<int>{from.buffer, to.buffer},
        [rows = *rowsOfOurs, x0 = from.access.offset, y0 = to.access.offset,
         threads = p.options().threads](float* const* q) { rows.run(q[0] + x0, q[1] + y0, threads); }));
    p.define({n, 0}, std::move(to));
    p.note(n, "a kernel of our own");
    return true;
  }
  memory::desc rows({elementCount(extents) / extents[axis], extents[axis]}, kF32, memory::format_tag::ab);
  typename Primitive::primitive_desc how(typename Primitive::desc(kInference, rows, 1), userScratchpad(), p.engine());
  Place to = p.overOrLike(from);
  auto step = p.primitive(Primitive(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, rows, p.engine(), from.buffer, from.access.offset);
  step->add(DNNL_ARG_DST, rows, p.engine(), to.buffer, to.access.offset);
  p.emit(std::move(step));
  p.define({n, 0}, std::move(to));
  p.note(n, how.impl_info_str());
  return true;
}

bool lowerLayerNormalization(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Value x = node.operands[0];
  Extents extents = p.extents(x);
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  const Tensor<float>* scale = p.constant(node.operands[1]);
  const Tensor<float>* bias = node.operands.size() > 2 ? p.constant(node.operands[2]) : nullptr;
  if (!scale || (node.operands.size() > 2 && !bias)) throw NotLowered{"a scale that is not constant"};
  int64_t columns = scale->size();
  Place from = withInnermost(p, x, axis, extents.size() - axis);
  memory::desc rows({elementCount(extents) / columns, columns}, kF32, memory::format_tag::ab);
  using Flags = dnnl::normalization_flags;
  dnnl::layer_normalization_forward::desc desc(kInference, rows, static_cast<float>(node.number("epsilon")),
                                               Flags::use_scale | Flags::use_shift);
  dnnl::layer_normalization_forward::primitive_desc how(desc, userScratchpad(), p.engine());
  Place to = p.overOrLike(from);
  auto step = p.primitive(dnnl::layer_normalization_forward(how), how.scratchpad_desc());
  memory::desc vector({columns}, kF32, memory::format_tag::x);
  step->add(DNNL_ARG_SRC, rows, p.engine(), from.buffer, from.access.offset);
  step->add(DNNL_ARG_SCALE, p.prepared(*scale, vector, vector));
  step->add(DNNL_ARG_SHIFT, p.prepared(bias ? *bias : Tensor<float>({columns}), vector, vector));
  step->add(DNNL_ARG_DST, rows, p.engine(), to.buffer, to.access.offset);
  p.emit(std::move(step));
  p.define({n, 0}, std::move(to));
  p.note(n, how.impl_info_str());
  return true;
}

/// y[i] = x[i] / sqrt(mean of squares + epsilon) · scale[i] over one row; sums in lanes, so that they become vectors.
void rmsNormalize(const float* x, const std::vector<float>& scale, double epsilon, float* y) {
  constexpr size_t kLanes = 16;
  const size_t count = scale.size();
  double squares[kLanes] = {};
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t lane = 0; lane < std::min(kLanes, count - i); ++lane) {
      double value = x[i + lane];
      squares[lane] += value * value;
    }
  }
  double sum = std::accumulate(std::begin(squares), std::end(squares), 0.0);
  auto by = static_cast<float>(1 / std::sqrt(sum / static_cast<double>(count) + epsilon));
  for (size_t i = 0; i < count; ++i)
    y[i] = x[i] * by * scale[i];
}

bool lowerRmsNormalization(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  Value x = node.operands[0];
  Extents extents = p.extents(x);
  auto axis = static_cast<size_t>(p.scalar(n, "axis"));
  const Tensor<float>* scale = p.constant(node.operands[1]);
  if (!scale) throw NotLowered{"a scale that is not constant"};
  Place from = withInnermost(p, x, axis, extents.size() - axis);
  Place to = p.overOrLike(from);
  const int64_t columns = scale->size(), rows = elementCount(extents) / columns;
  p.emit(std::make_unique<KernelStep>(
      std::vector<int>{from.buffer, to.buffer},
      [rows, columns, weights = scale->data, epsilon = node.number("epsilon"), x0 = from.access.offset,
       y0 = to.access.offset, threads = p.options().threads](float* const* q) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
        for (int64_t row = 0; row < rows; ++row)
          rmsNormalize(q[0] + x0 + row * columns, weights, epsilon, q[1] + y0 + row * columns);
      }));
  p.define({n, 0}, std::move(to));
  p.note(n, "a kernel of our own");
  return true;
}

/// Rank 3 to 5 in a form that normalisations per channel take.
std::pair<Place, Form> normalised(Planner& p, Value x) {
  const Place& there = p.place(x);
  auto desc = descOf(there.access);
  if (desc && isDense(there.access)) return {there, {there.access, *desc}};
  Form last = channelsLastForm(there.access.extents());
  return {p.as(x, last.access), last};
}

/// The layout of a dense form as kernels of ours say it: groups and width.
std::optional<std::pair<int64_t, int64_t>> blocksOf(const Access& access) {
  Extents extents = access.extents();
  // First, for what is both: of one position, rows of channels.
  if (sameForm(access, channelsLast(extents))) return std::pair{int64_t{1}, extents[1]};
  if (sameForm(access, rowMajor(extents))) return std::pair{extents[1], int64_t{1}};
  if (extents[1] % 16 == 0 && sameForm(access, channelsBlocked(extents, 16)))
    return std::pair{extents[1] / 16, int64_t{16}};
  return std::nullopt;
}

/// Of the value as it lies, or with channels last.
std::pair<Place, std::pair<int64_t, int64_t>> inBlocks(Planner& p, Value x) {
  Place there = p.place(x);
  if (!blocksOf(there.access)) there = p.as(x, channelsLast(p.extents(x)));
  return {there, *blocksOf(there.access)};
}

/// A kernel that adds the epilogue's sum as it writes the result, which lies as its operand does.
template <class Kernel>
void emitWithSum(Planner& p, int n, const Epilogue& e, Kernel kernel, const Place& from) {
  std::optional<Place> added;
  if (e.sum()) added = p.as(*e.sum(), from.access);
  Place to = p.overOrLike(from);
  const bool apart = !added || p.root(added->buffer) != p.root(to.buffer) || added->access.offset == to.access.offset;
  if (!apart) to = p.create(from.access);
  std::vector<int> buffers{from.buffer, to.buffer};
  if (added) buffers.push_back(added->buffer);
  p.emit(std::make_unique<KernelStep>(
      buffers, [kernel = std::move(kernel), x0 = from.access.offset, y0 = to.access.offset, sums = added.has_value(),
                z0 = added ? added->access.offset : 0, threads = p.options().threads](float* const* q) {
        kernel.run(q[0] + x0, sums ? q[2] + z0 : nullptr, q[1] + y0, threads);
      }));
  p.define(e.result, std::move(to));
  p.note(n, "a kernel of our own");
}

/// With the epilogue's scale and shift after the normalisation's own, then a sum, then bounds.
bool lowerBatchNormalization(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const auto behind = behindOf(e);
  if (!behind || !behind->functions.empty()) return false;
  const Tensor<float>* numbers[4];
  for (size_t i = 0; i < 4; ++i) {
    numbers[i] = p.constant(node.operands[i + 1]);
    if (!numbers[i]) throw NotLowered{"statistics that are not constant"};
  }
  const Extents extents = p.extents({n, 0});
  auto [from, blocks] = inBlocks(p, node.operands[0]);
  Epilogue all = e;
  all.complete(extents[1]);
  BatchNorm kernel{extents[0],    blocks.first,     elementCount(extents) / extents[0] / extents[1],
                   blocks.second, numbers[2]->data, all.scale,
                   all.shift,     behind->bounds};
  for (size_t c = 0; c < all.scale.size(); ++c) {
    const double deviation = std::sqrt(double{numbers[3]->data[c]} + node.number("epsilon"));
    kernel.shift[c] += all.scale[c] * numbers[1]->data[c];
    kernel.scale[c] = static_cast<float>(double{all.scale[c]} * numbers[0]->data[c] / deviation);
  }
  emitWithSum(p, n, e, std::move(kernel), from);
  return true;
}

/// Tensors [N, C, V] whose images are gap-free ranges, of which each row has so many neighbours of each channel, one
/// channel after the other (groups of channels that are last; all of V: channels that lie by themselves), in whatever
/// order: sums do not see it. Nullopt: they lie otherwise.
std::optional<int64_t> neighboursOf(const Access& access) {
  if (access.rank() != 3 || access.fills()) return std::nullopt;
  const int64_t channels = std::ssize(access.tables[1]), positions = std::ssize(access.tables[2]);
  const int64_t together = channels > 1 ? access.tables[1][1] : positions, row = together * channels;
  if (together < 1 || access.tables[1] != multiples(channels, together) ||
      access.tables[0] != multiples(std::ssize(access.tables[0]), channels * positions))
    return std::nullopt;
  std::vector<bool> taken(static_cast<size_t>(positions));
  for (const int64_t at : access.tables[2]) {
    const int64_t v = at / row * together + at % row;
    if (at < 0 || at % row >= together || v >= positions || taken[static_cast<size_t>(v)]) return std::nullopt;
    taken[static_cast<size_t>(v)] = true;
  }
  return positions % together == 0 ? std::optional(together) : std::nullopt;
}

/// With scale and shift after its own, then a sum, then bounds.
bool lowerInstanceNormalization(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Tensor<float>*scale = p.constant(node.operands[1]), *shift = p.constant(node.operands[2]);
  if (!scale || !shift) throw NotLowered{"a scale that is not constant"};
  const auto behind = behindOf(e);
  if (!behind || !behind->functions.empty()) return false;
  const Extents extents = p.extents({n, 0});
  Epilogue all = e;
  all.complete(extents[1]);
  for (size_t c = 0; c < all.scale.size(); ++c) {
    all.shift[c] += all.scale[c] * shift->data[c];
    all.scale[c] *= scale->data[c];
  }
  InstanceNorm kernel{.images = extents[0],
                      .groups = 1,
                      .positions = elementCount(extents) / extents[0] / extents[1],
                      .width = 1,
                      .scale = all.scale,
                      .shift = all.shift,
                      .epsilon = static_cast<float>(node.number("epsilon")),
                      .bounds = behind->bounds};
  const Place& there = p.place(node.operands[0]);
  if (const auto neighbours = blocksOf(there.access) ? std::nullopt : neighboursOf(there.access)) {
    if (*neighbours == kernel.positions) {
      kernel.groups = extents[1];
    } else {
      kernel.together = *neighbours;
      kernel.width = *neighbours * extents[1];
      kernel.positions /= *neighbours;
    }
    emitWithSum(p, n, e, std::move(kernel), Place(there));
    p.note(n, "a kernel of our own: groups where they lie");
    return true;
  }
  const auto [from, blocks] = inBlocks(p, node.operands[0]);
  std::tie(kernel.groups, kernel.width) = blocks;
  emitWithSum(p, n, e, std::move(kernel), from);
  return true;
}

/// oneDNN's windows are symmetric, as ONNX's are where they are odd.
bool lowerLrn(Planner& p, int n, const Epilogue&) {
  const Node& node = p.node(n);
  const int64_t size = p.scalar(n, "size");
  if (size % 2 == 0) throw NotLowered{"an even window"};
  if (p.extents({n, 0}).size() != 4) throw NotLowered{"no image"};
  auto number = [&](std::string_view name) { return static_cast<float>(node.number(name)); };
  auto [from, form] = normalised(p, node.operands[0]);
  dnnl::lrn_forward::desc desc(kInference, dnnl::algorithm::lrn_across_channels, form.desc, size, number("alpha"),
                               number("beta"), number("bias"));
  dnnl::lrn_forward::primitive_desc how(desc, userScratchpad(), p.engine());
  Place to = p.create(from.access);
  auto step = p.primitive(dnnl::lrn_forward(how), how.scratchpad_desc());
  step->add(DNNL_ARG_SRC, form.desc, p.engine(), from.buffer, from.access.offset);
  step->add(DNNL_ARG_DST, form.desc, p.engine(), to.buffer, to.access.offset);
  p.emit(std::move(step));
  p.define({n, 0}, std::move(to));
  p.note(n, how.impl_info_str());
  return true;
}

constexpr LowerRow kNormalizationRows[] = {
    {"Softmax", lowerSoftmax<dnnl::softmax_forward>},
    {"LogSoftmax", lowerSoftmax<dnnl::logsoftmax_forward>},
    {"LayerNormalization", lowerLayerNormalization},
    {"RMSNormalization", lowerRmsNormalization},
    {"InstanceNormalization", lowerInstanceNormalization, channelDimension},
    {"BatchNormalization", lowerBatchNormalization, channelDimension},
    {"LRN", lowerLrn},
};

}  // namespace

std::span<const LowerRow> normalizationLowerings() {
  return kNormalizationRows;
}

}  // namespace pet::onednn
