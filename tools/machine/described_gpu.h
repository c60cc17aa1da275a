#pragma once

#include <map>
#include <string>

#include "ir/error.h"
#include "ir/machine.h"

namespace pet::tool {

/// What is published of a kind of GPU (docs/speed.md, GPUs).
struct DescribedGpu {
  Machine machine;                      ///< as a runner on it says it, without rates
  std::map<std::string, double> flops;  ///< a second, at the most, by precision
  double bytes = 0;                     ///< a second, of its memory
};

/// One of describedGpus(). kUsage: there is none of this name, or its file is none.
Expected<DescribedGpu> describedGpu(const std::string& name);

}  // namespace pet::tool
