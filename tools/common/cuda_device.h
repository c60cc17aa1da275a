#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ir/error.h"

// Devices of our own engine on NVIDIA GPUs.
namespace pet::tool {

/// How such devices are named, for --help.
inline constexpr std::string_view kGpuWords =
    "cuda or cuda:1 for a GPU of this machine, cuda:h200:tf32 with a precision";

/// The first is the usual one.
inline constexpr std::array<std::string_view, 4> kPrecisions{"fp32", "tf32", "fp16", "bf16"};

/// A GPU, and the precision that our engine computes with there: "cuda:h200", "cuda:h200:tf32". Timings are of such a
/// device. "cuda" and "cuda:1" are the GPUs of a machine by their place; "cuda:0:fp16".
struct CudaDevice {
  std::string gpu;                 ///< its name, or its place: "h200", "1"; "": the first one
  std::string precision = "fp32";  ///< one of kPrecisions

  /// Without a precision that is fp32.
  std::string str() const;
  /// It says which kind of GPU.
  bool isNamed() const;
  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;
};

/// The device of this name; nullopt: it does not begin with "cuda". kUsage: of another form; no such precision.
Expected<std::optional<CudaDevice>> cudaDevice(std::string_view device);

/// The one name that timings have of a device: "cuda:h200" for "cuda:h200:fp32"; others as they are. Errors as above.
Expected<std::string> settledDevice(const std::string& device);

/// The GPUs that pet comes with properties of: "h200".
std::set<std::string> describedGpus();

/// Whether a driver's name of a GPU has this short one in it: "NVIDIA GeForce RTX 5090" is an rtx5090, "NVIDIA L40S" no
/// l4.
bool isGpuNamed(std::string_view driversName, std::string_view name);
/// The short name of a GPU by its driver's: one of `described` if there is one, else its words: "NVIDIA TITAN V" is a
/// titan-v.
std::string shortGpuName(std::string_view driversName, const std::set<std::string>& described);

/// How far rounding may take two programs apart that compute the same on a device, as a share of the largest value:
/// beyond, they do not.
double largestRounding(std::string_view device);

}  // namespace pet::tool
