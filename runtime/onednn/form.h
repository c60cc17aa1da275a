#pragma once

#include <optional>

#include <oneapi/dnnl/dnnl.hpp>

#include "runtime/plan/access.h"

namespace pet::onednn {

using plan::Access;

inline constexpr auto kF32 = dnnl::memory::data_type::f32;

/// A memory layout of a tensor, in our description and in oneDNN's.
struct Form {
  Access access;
  dnnl::memory::desc desc;
};

/// Any form that a primitive asks for, unless it pads extents.
std::optional<Form> formOf(const dnnl::memory::desc& desc);
/// An access that oneDNN can describe: by strides that do not overlap, or by blocks of 16 channels.
std::optional<dnnl::memory::desc> descOf(const Access& access);

dnnl::memory::desc anyForm(const Extents& extents);
Form rowMajorForm(const Extents& extents);
/// Of rank 3 to 5.
Form channelsLastForm(const Extents& extents);

/// oneDNN has this instruction set here.
bool hasIsa(dnnl::cpu_isa wanted);
/// An implementation that is not a reference of oneDNN's own.
bool isOptimised(const char* implementation);

}  // namespace pet::onednn
