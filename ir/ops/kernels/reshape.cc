#include "ir/ops/kernels/broadcast.h"

namespace pet::kernels {
namespace {

template <class T>
Expected<std::vector<Tensor<T>>> rearranged(const ConcreteNode& node, const Offsets& offsets, const Tensor<T>& x) {
  Tensor<T> y(node.outputs[0]);
  gather(offsets, x.data.data(), T(), y.data.data());
  return std::vector{std::move(y)};
}

}  // namespace

template <class T>
Expected<std::vector<Tensor<T>>> Reshape::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return std::vector{Tensor<T>(node.outputs[0], in[0]->data)};
}

template <class T>
Expected<std::vector<Tensor<T>>> SpaceToDepth::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Extents& x = in[0]->extents;
  int64_t b = node.scalar("blocksize"), height = x[2] / b, width = x[3] / b, plane = x[2] * x[3];
  return rearranged(node,  // y[n, (p q c), h, w] = x[n, c, (h p), (w q)]
                    {linearOffsets(x[0], x[1] * plane), linearOffsets(b, x[3]), linearOffsets(b, 1),
                     linearOffsets(x[1], plane), linearOffsets(height, b * x[3]), linearOffsets(width, b)},
                    *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> DepthToSpace::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  const Extents& x = in[0]->extents;
  int64_t b = node.scalar("blocksize"), channels = x[1] / (b * b), plane = x[2] * x[3];
  bool outer = node.text("mode") == "DCR";  // the depth is (p q c), else (c p q)
  int64_t c = outer ? 1 : b * b, p = outer ? b * channels : b, q = outer ? channels : 1;
  return rearranged(node,
                    {linearOffsets(x[0], x[1] * plane), linearOffsets(channels, c * plane), linearOffsets(x[2], x[3]),
                     linearOffsets(b, p * plane), linearOffsets(x[3], 1), linearOffsets(b, q * plane)},
                    *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> Expand::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  return rearranged(node, broadcastOffsets(in[0]->extents, node.outputs[0]), *in[0]);
}

template <class T>
Expected<std::vector<Tensor<T>>> Tile::run(const ConcreteNode& node, std::span<const Tensor<T>* const> in) {
  std::vector<int64_t> strides = rowMajorStrides(in[0]->extents);
  Offsets offsets;
  for (size_t d = 0; d < strides.size(); ++d) {
    std::vector<int64_t> table;
    for (int64_t i = 0; i < node.outputs[0][d]; ++i)
      table.push_back(i % in[0]->extents[d] * strides[d]);
    offsets.push_back(std::move(table));
  }
  return rearranged(node, offsets, *in[0]);
}

PET_INSTANTIATE_RING(Reshape);
PET_INSTANTIATE_RING(SpaceToDepth);
PET_INSTANTIATE_RING(DepthToSpace);
PET_INSTANTIATE_RING(Expand);
PET_INSTANTIATE_RING(Tile);

}  // namespace pet::kernels
