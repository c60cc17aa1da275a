// The default pack's rules on the GPU's engine, on this processor: what each rule replaces and what it puts there, at
// small shapes of its class, are what the reference computes, each shape with threads in another order.

#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_rules_support.h"
#include "tests/unit/part.h"

namespace pet::cuda_rules_test {
namespace {

using namespace cuda;
using namespace testing_support;

constexpr size_t kShapes = 3;

/// Each commit has one of so many parts of the rules where all of them take minutes: under the sanitizer, whose kernels
/// are instrumented, and with times.
constexpr size_t kSanitizedParts = 4, kTimedParts = 3;

/// Devices with threads in each order, and those times: each has others of its own.
std::vector<std::shared_ptr<Device>> devicesOf(bool madeUpTimes) {
  HostOptions options = hostOptions();
  options.streams = 4;
  options.madeUpTimes = madeUpTimes;
  std::vector<std::shared_ptr<Device>> devices;
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    options.order = order;
    options.name = fmt::format("device {}", devices.size());
    devices.push_back(hostDevice(options));
  }
  return devices;
}

/// Returns how many programs have a node that is computed in a way whose name has each of these words.
std::map<std::string, size_t> expectBothSidesAreTheReference(bool madeUpTimes, const std::set<std::string>& words) {
  const size_t parts = hostOptions().sanitize ? kSanitizedParts : madeUpTimes ? kTimedParts : 1;
  std::map<std::string, size_t> counts;
  for (size_t part = 0; part < parts; ++part) {
    if (!isInPart(part, parts)) continue;
    const std::vector<DeviceRun> runs = preparedRules(devicesOf(madeUpTimes), kShapes, {part, parts});
    for (const DeviceRun& run : runs) {
      expectReference(run, 1e-4);
      const std::string notes = run.model ? notesOf(*run.model) : "";
      for (const std::string& word : words)
        counts[word] += notes.find(word) != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(runs.size(), 2 * kShapes * defaultPack().rules.size() / parts * 9 / 10);
  }
  return counts;
}

TEST(CudaRules, BothSidesAreTheReference) {
  expectBothSidesAreTheReference(false, {});
}

/// Tables in kernels, orders of dimensions, phases, copies to borders, in whatever combinations times lead to.
TEST(CudaRules, BothSidesAreTheReferenceWhateverIsTheFastest) {
  for (const auto& [word, count] :
       expectBothSidesAreTheReference(true, {"a table in its code", "phases", "nhwc", "tiles", "off borders"}))
    EXPECT_GE(count, 20U) << word;
}

#ifdef PET_CUDA_INCLUDE
TEST(CudaRules, NearlyAllAreNearInHalfPrecision) {
  constexpr size_t kParts = 4;
  HostOptions options = hostOptions();
  options.madeUpTimes = true;
  for (size_t part = 0; part < kParts; ++part) {
    if (!isInPart(part, kParts)) continue;
    options.precision = part % 2 == 0 ? Precision::kFp16 : Precision::kBf16;
    const PackPart rules{part, kParts, roundedTo(options.precision)};
    expectNearlyAllNear(preparedRules({hostDevice(options)}, kShapes, rules), options.precision);
  }
}
#endif

}  // namespace
}  // namespace pet::cuda_rules_test
