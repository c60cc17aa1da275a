// This processor as a device for tests.
#pragma once

#include <gtest/gtest.h>

#include "runtime/cuda/host/host_device.h"
#include "tests/unit/cuda_support.h"

namespace pet::testing_support {

inline cuda::HostOptions hostOptions() {
  cuda::HostOptions options;
  options.include = PET_SOURCE_DIR "/runtime/cuda/host";
#ifdef PET_CUDA_INCLUDE
  options.toolkit = PET_CUDA_INCLUDE;
#endif
#ifdef __clang__
#if __has_feature(address_sanitizer)
  options.compiler = "clang++";
  options.sanitize = true;
#endif
#endif
  options.folder = testing::TempDir() + "pet_kernels";
  return options;
}

}  // namespace pet::testing_support
