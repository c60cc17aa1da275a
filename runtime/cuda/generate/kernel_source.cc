#include "runtime/cuda/generate/kernel_source.h"

#include <cmath>

#include <fmt/format.h>

namespace pet::cuda {
namespace {

constexpr std::string_view kFunctions = R"(
struct __align__(16) Pack { T v[16 / sizeof(T)]; };

// As many elements as one load of 16 bytes has; `wide`: the address is a multiple of that.
static __device__ __forceinline__ Pack loadPack(const T* p, bool wide) {
  Pack pack;
  if (wide) return *reinterpret_cast<const Pack*>(p);
#pragma unroll
  for (int i = 0; i < (int)(16 / sizeof(T)); ++i) pack.v[i] = p[i];
  return pack;
}
static __device__ __forceinline__ void storePack(T* p, const Pack& pack, bool wide) {
  if (wide) {
    *reinterpret_cast<Pack*>(p) = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < (int)(16 / sizeof(T)); ++i) p[i] = pack.v[i];
}

static __device__ __forceinline__ float relu(float x, float alpha) { return x < 0 ? alpha * x : x; }
static __device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
static __device__ __forceinline__ float square(float x) { return x * x; }
static __device__ __forceinline__ float swish(float x, float alpha) { return x * sigmoid(alpha * x); }
static __device__ __forceinline__ float elu(float x, float alpha, float beta) {
  return beta * (x < 0 ? alpha * expm1f(x) : x);
}
static __device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
static __device__ __forceinline__ float mish(float x) { return x * tanhf(softplus(x)); }
static __device__ __forceinline__ float hardswish(float x) { return x * fminf(fmaxf(x / 6.0f + 0.5f, 0.0f), 1.0f); }
static __device__ __forceinline__ float geluErf(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
static __device__ __forceinline__ float geluTanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
// Of a NaN, a NaN.
static __device__ __forceinline__ float clip(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
static __device__ __forceinline__ float larger(float a, float b) { return a > b || a != a ? a : b; }

template <bool kMax>
static __device__ __forceinline__ float combine(float a, float b) { return kMax ? larger(a, b) : a + b; }
// Of a warp's threads; every one gets it.
template <bool kMax>
static __device__ __forceinline__ float overWarp(float x) {
  for (int step = 16; step > 0; step /= 2) x = combine<kMax>(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
// Of a block of 256 threads; every one gets it. `warps`: 8 numbers in shared memory.
template <bool kMax>
static __device__ __forceinline__ float overBlock(float x, float* warps) {
  x = overWarp<kMax>(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
  for (int w = 1; w < 8; ++w) x = combine<kMax>(x, warps[w]);
  return x;
}
)";

std::string_view typeOf(Storage storage) {
  switch (storage) {
    case Storage::kHalf:
      return "#include <cuda_fp16.h>\ntypedef __half T;\n";
    case Storage::kBfloat16:
      return "#include <cuda_bf16.h>\ntypedef __nv_bfloat16 T;\n";
    case Storage::kFloat:
      break;
  }
  return "typedef float T;\n";
}

/// FNV-1a: names are only compared.
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::string prelude(Storage storage) {
  return std::string(typeOf(storage)).append(kFunctions);
}

std::string number(float value) {
  if (std::isfinite(value)) return fmt::format("{:.9e}f", value);
  return std::isnan(value) ? "__int_as_float(0x7fffffff)"
       : value > 0         ? "__int_as_float(0x7f800000)"
                           : "__int_as_float(0xff800000)";
}

KernelSource named(std::string_view kind, std::string code) {
  constexpr std::string_view kPlace = "NAME";
  KernelSource source;
  source.name = fmt::format("pet_{}_{:016x}", kind, hashOf(code));
  for (size_t at = code.find(kPlace); at != std::string::npos; at = code.find(kPlace, at))
    code.replace(at, kPlace.size(), source.name);
  source.code = std::move(code);
  return source;
}

}  // namespace pet::cuda
