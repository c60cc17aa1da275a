#include "runtime/onednn/form.h"

#include <algorithm>
#include <cstring>

#include "ir/tensor.h"

namespace pet::onednn {

using namespace plan;

namespace {

/// oneDNN takes no strides by which two positions are one element (windows that overlap).
bool overlaps(const Extents& extents, const std::vector<int64_t>& strides) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] > 1) steps.emplace_back(strides[d], extents[d]);
  }
  std::sort(steps.begin(), steps.end());
  int64_t reached = 1;
  for (auto [stride, extent] : steps) {
    if (stride < reached) return true;
    reached = stride * extent;
  }
  return false;
}

}  // namespace

std::optional<Form> formOf(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  if (d.format_kind != dnnl_blocked || d.extra.flags != 0) return std::nullopt;
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  Access access;
  access.offset = d.offset0;
  for (int i = 0; i < d.ndims; ++i) {
    if (d.padded_dims[i] != d.dims[i] || d.padded_offsets[i] != 0) return std::nullopt;
    std::vector<int64_t> table;
    for (int64_t index = 0; index < d.dims[i]; ++index) {
      int64_t rest = index, at = 0, stride = 1;
      for (int b = blocking.inner_nblks; b-- > 0;) {
        if (blocking.inner_idxs[b] == i) {
          at += rest % blocking.inner_blks[b] * stride;
          rest /= blocking.inner_blks[b];
        }
        stride *= blocking.inner_blks[b];
      }
      table.push_back(at + rest * blocking.strides[i]);
    }
    access.tables.push_back(std::move(table));
  }
  return Form{std::move(access), desc};
}

std::optional<dnnl::memory::desc> descOf(const Access& access) {
  if (access.rank() == 0 || access.rank() > DNNL_MAX_NDIMS) return std::nullopt;
  if (auto strides = stridesOf(access)) {
    if (overlaps(access.extents(), *strides)) return std::nullopt;
    return dnnl::memory::desc(access.extents(), kF32, *strides);
  }
  Extents extents = access.extents();
  if (extents.size() < 3 || extents.size() > 5 || extents[1] % 16 != 0) return std::nullopt;
  if (!sameForm(access, channelsBlocked(extents, 16))) return std::nullopt;
  using Tag = dnnl::memory::format_tag;
  Tag tag = extents.size() == 3 ? Tag::nCw16c : extents.size() == 4 ? Tag::nChw16c : Tag::nCdhw16c;
  return dnnl::memory::desc(extents, kF32, tag);
}

dnnl::memory::desc anyForm(const Extents& extents) {
  return {extents, kF32, dnnl::memory::format_tag::any};
}

Form rowMajorForm(const Extents& extents) {
  return {rowMajor(extents), dnnl::memory::desc(extents, kF32, rowMajorStrides(extents))};
}

Form channelsLastForm(const Extents& extents) {
  // By its tag: primitives compare strides, also of dimensions of extent 1.
  using Tag = dnnl::memory::format_tag;
  Tag tag = extents.size() == 3 ? Tag::nwc : extents.size() == 4 ? Tag::nhwc : Tag::ndhwc;
  return {channelsLast(extents), dnnl::memory::desc(extents, kF32, tag)};
}

bool hasIsa(dnnl::cpu_isa wanted) {
  const auto here = static_cast<unsigned>(dnnl::get_effective_cpu_isa()), all = static_cast<unsigned>(wanted);
  return (here & all) == all;
}

bool isOptimised(const char* implementation) {
  return std::strncmp(implementation, "ref", 3) != 0;
}

}  // namespace pet::onednn
