#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cuda/open_gpu.h"
#include "runtime/engines.h"
#include "runtime/onednn/onednn.h"

// Our own engine, as pet-run and pet-runner are asked for it.
namespace pet::tool {

/// What programs are computed on, and how.
struct EngineChoice {
  std::string device = "cpu";  ///< or a CudaDevice: "cuda", "cuda:1", "cuda:h200:tf32"
  std::string precision;       ///< of a GPU; "": what the device says
  std::string plan;            ///< a GPU that need not be there, by its name or a file of its properties; "": it is
  double searchSeconds = cuda::kSearchSeconds;  ///< on a GPU, for the plans of a call
  std::string cache;  ///< where a GPU's plans are kept; "": the usual place, or with `plan` nowhere
};

/// --device and --precision.
void declareEngine(CLI::App& app, EngineChoice& choice);

struct OwnEngine {
  Engines engines;
  std::string name, version;  ///< "pet-onednn", "2.6.0"; "pet-cuda", the device
  std::string precision = "fp32";
  std::shared_ptr<cuda::GpuDevice> gpu = nullptr;  ///< null: a processor
};

/// `processor`: how it computes, if it is one. kUsage: no such device, precision or file; no GPU of that name is here;
/// what is missing for one (openGpu()).
Expected<OwnEngine> openEngine(const EngineChoice& choice, const OneDnnOptions& processor);

}  // namespace pet::tool
