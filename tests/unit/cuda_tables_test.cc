// Products with tables of known numbers by kernels of our own: they are what plain loops compute, whatever thread runs
// first, and are taken where they are the fastest.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/cuda/tables.h"
#include "tests/unit/cuda_host_support.h"
#include "tests/unit/cuda_store.h"
#include "tests/unit/cuda_table_cases.h"

namespace pet::cuda_tables_test {
namespace {

using namespace cuda;
using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled};

TEST(CudaTables, KernelsAreWhatPlainLoopsCompute) {
  HostOptions options = hostOptions();
  for (ThreadOrder order : kOrders) {
    options.order = order;
    expectTablesAreTheLibrarys(*hostDevice(options), 0);
  }
}

#ifdef PET_CUDA_INCLUDE
/// The numbers are small, but their sums are more than 16 bits hold exactly.
TEST(CudaTables, MemoryMayHoldHalfPrecision) {
  HostOptions options = hostOptions();
  options.precision = Precision::kFp16;
  expectTablesAreTheLibrarys(*hostDevice(options), 1e-3);
}
#endif

TEST(CudaTables, LearnedNumbersAndLargeMatricesAreNone) {
  std::vector<float> learned(36);
  for (size_t i = 0; i < learned.size(); ++i)
    learned[i] = 1 / static_cast<float>(i + 1);
  EXPECT_FALSE(isTable(learned, 4, 9));
  EXPECT_TRUE(isTable(tableOf(4, 9), 4, 9));
  EXPECT_TRUE(isTable(tableOf(64, 64), 64, 64));
  EXPECT_FALSE(isTable(tableOf(65, 4), 65, 4));
  EXPECT_FALSE(isTable(tableOf(4, 65), 4, 65));
}

/// F(2, 3) along rows: two tables around a product.
std::string winograd(float factor) {
  return fmt::format(
      "x: [1, 5, 4, 9]\n"
      "k: const [4, 6, 5]\n"
      "bt = Table() shape=[4, 1, 1, 4] values=[1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, {}, 0, -1]\n"
      "at = Table() shape=[2, 4] values=[1, 1, 1, 0, 0, 1, -1, -1]\n"
      "a = Layout(x) n c h w -> (n c) 1 h w\n"
      "tiles = Conv(a, bt) strides=[1, 2] pads=[0, 1, 0, 2]\n"
      "b = Layout(tiles) c u h b -> u c (h b)\n"
      "products = MatMul(k, b)\n"
      "c = Layout(products) u f (h:4 b:5) -> u (f h b)\n"
      "y = MatMul(at, c)",
      factor);
}

/// The same, a function behind it, and what comes next reads the pieces of its rows where they are.
const std::string kTwice =
    "x: [1, 5, 4, 9]\n"
    "k: const [4, 6, 5]\n"
    "b1: const [120]\n"
    "bt = Table() shape=[4, 1, 1, 4] values=[1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1]\n"
    "at = Table() shape=[2, 4] values=[1, 1, 1, 0, 0, 1, -1, -1]\n"
    "a = Layout(x) n c h w -> (n c) 1 h w\n"
    "tiles = Conv(a, bt) strides=[1, 2] pads=[0, 1, 0, 2]\n"
    "b = Layout(tiles) c u h b -> u c (h b)\n"
    "products = MatMul(k, b)\n"
    "c = Layout(products) u f (h:4 b:5) -> u (f h b)\n"
    "results = MatMul(at, c)\n"
    "d = Add(results, b1)\n"
    "e = Relu(d)\n"
    "f = Layout(e) i (f:6 h:4 b:5) -> f 1 h (b i)\n"
    "g = Slice(f) axes=[3] starts=[0] ends=[9]\n"
    "y = Conv(g, bt) strides=[1, 2] pads=[0, 1, 0, 2]";

/// How tiles and y are computed, where plans whose names have this text in them are the fastest.
struct How {
  std::string notes;
  PlanCounts counts;
  std::string launches;  ///< by node
};
How howOf(const std::string& text, const std::string& fastest, const std::shared_ptr<PlanStore>& store) {
  HostOptions options = hostOptions();
  options.store = store;
  options.seconds = [=](const std::string& name) { return name.find(fastest) == std::string::npos ? 1e-3 : 1e-4; };
  const auto device = hostDevice(options);
  const auto model = modelOn(device, text);
  if (!model) return {};
  return {notesOf(*model), device->planCounts(), launchesOf(*model)};
}

TEST(CudaTables, TheFastestIsTakenAndKept) {
  auto store = std::make_shared<MapStore>();
  const How first = howOf(winograd(1), "a table", store);
  EXPECT_THAT(first.notes, HasSubstr("tiles: Conv, a kernel of our own, a table in its code\n"));
  EXPECT_THAT(first.notes, HasSubstr("y: MatMul, a kernel of our own, a table in its code\n"));
  EXPECT_THAT(first.notes, HasSubstr("products: MatMul, host product"));
  const How second = howOf(winograd(1), "host", store);
  EXPECT_EQ(second.notes, first.notes);
  EXPECT_EQ(second.counts.chosen, 0);
  // Plans are kept by the table, too.
  const How other = howOf(winograd(2), "a table", store);
  EXPECT_EQ(other.notes, first.notes);
  EXPECT_GT(other.counts.chosen, 0);
  EXPECT_THAT(howOf(winograd(1), "host", nullptr).notes, Not(HasSubstr("of our own")));
}

/// What is behind the second table is a part of it, and nothing is copied in front of the third.
TEST(CudaTables, NothingIsCopiedBetweenThem) {
  const How how = howOf(kTwice, "a table", nullptr);
  EXPECT_THAT(how.notes, HasSubstr("e: Relu, with results\n"));
  EXPECT_THAT(how.notes, HasSubstr("y: Conv, a kernel of our own, a table in its code\n"));
  EXPECT_EQ(how.launches, "tiles products results y");
}

TEST(CudaTables, OtherNumbersAroundAnImageAreRead) {
  const std::string text =
      "x: [3, 1, 4, 9]\n"
      "bt = Table() shape=[4, 1, 1, 4] values=[1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1]\n"
      "p = Pad(x) pads=[0, 0, 0, 2, 0, 0, 0, 3] value=1\n"
      "y = Conv(p, bt) strides=[1, 2] pads=[0, 1, 0, 1]";
  EXPECT_THAT(howOf(text, "a table", nullptr).notes, HasSubstr("y: Conv, a kernel of our own, a table in its code\n"));
}

TEST(CudaTables, AnImageThatIsNotThereIsZero) {
  const std::string text =
      "x: [3, 1, 4, 9]\n"
      "bt = Table() shape=[4, 1, 1, 4] values=[1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1]\n"
      "p = Pad(x) pads=[0, 1, 0, 0, 0, 0, 0, 0]\n"
      "s = Slice(p) axes=[1] starts=[0] ends=[1]\n"
      "y = Conv(s, bt) strides=[1, 2] pads=[0, 1, 0, 2]";
  EXPECT_THAT(howOf(text, "a table", nullptr).notes, HasSubstr("y: Conv, a kernel of our own, a table in its code\n"));
}

/// Plans are compared on the table itself: on other numbers the kernel would be the one that is wrong.
TEST(CudaTables, PlansThatAgreeAreThoseOfTheTable) {
  HostOptions options = hostOptions();
  options.plans = 3;
  options.seconds = [](const std::string& name) { return name.find("a table") == std::string::npos ? 1e-3 : 1e-4; };
  const auto device = hostDevice(options);
  auto made = device->conv(callOf(kConvTables[0], false));
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->name(), "a kernel of our own, a table in its code");
}

}  // namespace
}  // namespace pet::cuda_tables_test
