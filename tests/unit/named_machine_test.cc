#include "tools/machine/named_machine.h"

#include <gtest/gtest.h>

namespace pet::tool::named_machine_test {
namespace {

EngineRates ratesOn(const std::string& device, double gemm) {
  return {device, "an engine", "1.0", 1, {.gemm = gemm}};
}

/// Of a machine on which one engine was calibrated the others' rates are those of the nearest machine that has them.
TEST(NamedMachine, RatesOfOneDeviceHideNoOthers) {
  Machines known;
  known["a"] = {.vendor = "v", .family = 1, .model = 2, .isa = "avx512", .rates = {ratesOn("onednn-cpu", 3)}};
  known["b"] = {
      .vendor = "w", .family = 1, .isa = "avx512", .rates = {ratesOn("onednn-cpu", 5), ratesOn("ort-cpu", 7)}};
  known["c"] = {.vendor = "v", .family = 1, .isa = "avx512", .rates = {ratesOn("ort-cpu", 11)}};
  auto machine = namedMachine("a", "ort-cpu", known);
  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_EQ(machine->ratesOn("ort-cpu", 1).gemm, 11);  // the same CPU
  EXPECT_EQ(machine->ratesOn("onednn-cpu", 1).gemm, 3);
  known.erase("c");
  EXPECT_EQ(namedMachine("a", "ort-cpu", known)->ratesOn("ort-cpu", 1).gemm, 7);  // the same ISA
  EXPECT_EQ(namedMachine("a", "onednn-cpu", known)->ratesOn("onednn-cpu", 1).gemm, 3);
  EXPECT_EQ(namedMachine("a", "mnn-cpu", known)->ratesOn("mnn-cpu", 1).gemm, 0);  // nobody knows
}

}  // namespace
}  // namespace pet::tool::named_machine_test
