#include "runtime/cuda/call_kernels.h"

#include <fmt/format.h>

namespace pet::cuda {

WindowKernel windowKernel(const PoolCall& call) {
  WindowKernel kernel;
  kernel.x = plan::strided(call.x.extents, call.x.strides);
  kernel.to = plan::strided(call.y.extents, call.y.strides);
  kernel.kernel = call.kernel;
  kernel.strides = call.strides;
  kernel.dilations = call.dilations;
  kernel.before = call.before;
  kernel.after = call.after;
  kernel.isMax = call.isMax;
  kernel.countsPads = call.countsPads;
  return kernel;
}

RowKernel::Pass meanPass(std::string term, int64_t count) {
  return {false, std::move(term), fmt::format("r * {}", number(static_cast<float>(1.0 / static_cast<double>(count))))};
}

std::vector<RowKernel::Pass> normPasses(NormCall::Kind kind, int64_t count, float epsilon) {
  const bool centred = kind != NormCall::Kind::kRms;
  std::vector<RowKernel::Pass> passes;
  if (centred) passes.push_back(meanPass("x", count));
  passes.push_back(meanPass(centred ? "(x - r0) * (x - r0)" : "x * x", count));
  std::string& finish = passes.back().finish;
  finish = fmt::format("rsqrtf({} + {})", finish, number(epsilon));
  return passes;
}

std::string normResult(NormCall::Kind kind, const std::string& scale, const std::string& shift) {
  const std::string_view normalised = kind == NormCall::Kind::kRms ? "x * r0" : "(x - r0) * r1";
  return fmt::format("({} * {}{}{})", normalised, scale, shift.empty() ? "" : " + ", shift);
}

RowKernel rowKernel(const NormCall& call) {
  const Extents& extents = call.x.extents;
  RowKernel kernel;
  kernel.x = plan::strided(extents, call.x.strides);
  kernel.to = plan::strided(extents, call.y.strides);
  kernel.reduced = call.rowDimensions();
  int64_t count = 1;
  for (size_t d : kernel.reduced)
    count *= extents[d];
  kernel.passes = normPasses(call.kind, count, call.epsilon);
  kernel.result = normResult(call.kind, "e0", call.shift ? "e1" : "");
  Extents channels(extents.size(), 1);
  channels[1] = extents[1];
  kernel.from.assign(call.shift ? 2 : 1, broadcast(plan::rowMajor(channels), extents));
  return kernel;
}

}  // namespace pet::cuda
