#include "ir/machine.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rules/pack/machine_text.h"
#include "rules/pack/timings.h"
#include "runtime/this_machine.h"

namespace pet::machine_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

Machine zen5() {
  return {.vendor = "AuthenticAMD", .family = 26, .model = 2, .cpu = "AMD EPYC", .isa = "avx512", .l2 = 1 << 20};
}

EngineRates ratesOf(const std::string& version, double gemm) {
  return {"ort-cpu", "onnxruntime", version, 1, {gemm, 2e11, 2e10}, false};
}

TEST(Machine, IsNamedByWhatIsKnown) {
  EXPECT_EQ(zen5().name(), "AuthenticAMD-26-2-avx512");
  EXPECT_EQ(zen5().str(), "AMD EPYC (AuthenticAMD family 26 model 2, avx512)");
  Machine unknown{.vendor = "AuthenticAMD", .cpu = "AMD EPYC", .isa = "avx2"};
  EXPECT_EQ(unknown.name(), "AuthenticAMD-avx2");
  EXPECT_EQ(unknown.str(), "AMD EPYC (AuthenticAMD, avx2)");
  EXPECT_EQ((Machine{.cpu = "beads", .isa = "abacus"}.name()), "beads-abacus");
  EXPECT_EQ((Machine{.cpu = "a b/c"}.name()), "a.b.c");
  EXPECT_EQ((Machine{.isa = "avx2"}.str()), "avx2");
  EXPECT_EQ(Machine().name(), "");
}

TEST(Machine, IsTheSameCpuWhereAllThatIsKnownAgrees) {
  auto with = [](auto change) {
    Machine m = zen5();
    change(m);
    return m;
  };
  EXPECT_TRUE(isSameCpu(zen5(), with([](Machine& m) { m.l3 = m.l2 = 7; })));
  EXPECT_TRUE(isSameCpu(zen5(), with([](Machine& m) { m.rates = {ratesOf("1", 1e11)}; })));
  EXPECT_TRUE(isSameCpu(zen5(), with([](Machine& m) { m.model = 0; })));
  EXPECT_FALSE(isSameCpu(zen5(), with([](Machine& m) { m.model = 17; })));
  EXPECT_FALSE(isSameCpu(zen5(), with([](Machine& m) { m.family = 25; })));
  EXPECT_FALSE(isSameCpu(zen5(), with([](Machine& m) { m.family = m.model = 0; })));
  EXPECT_FALSE(isSameCpu(zen5(), with([](Machine& m) { m.isa = "avx2"; })));
  EXPECT_FALSE(isSameCpu(zen5(), with([](Machine& m) { m.vendor = "GenuineIntel"; })));
}

TEST(Machine, RatesAreThoseOfTheDeviceAndItsLatestVersion) {
  Machine m = zen5();
  m.add(ratesOf("1.31", 3e11));
  m.add(ratesOf("1.30", 2e11));
  EXPECT_EQ(m.ratesOn("ort-cpu", 1).gemm, 3e11);
  EXPECT_EQ(m.ratesOn("ort-cpu", 2), Rates());
  EXPECT_EQ(m.ratesOn("onednn-cpu", 1), Rates());
  m.add(ratesOf("1.31", 4e11));
  EXPECT_EQ(m.rates.size(), 2U);
  EXPECT_EQ(m.ratesOn("ort-cpu", 1).gemm, 4e11);
}

TEST(Machine, TextIsReadBack) {
  Machine m = zen5();
  m.add(ratesOf("1.31.1", 2.5e11));
  const std::string text = print(m);
  EXPECT_THAT(text,
              StartsWith(R"({"machine":"AuthenticAMD-26-2-avx512","vendor":"AuthenticAMD","family":26,"model":2,)"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(parseMachine(text, "m.json").value(), m);
  EXPECT_EQ(parseMachine(text + "\n", "m.json").value(), m);
}

TEST(Machine, WhatIsNoneIsRefused) {
  Machine m = zen5();
  m.add(ratesOf("1.31.1", 2.5e11));
  const std::string good = print(m);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("{}"), with("-26-2-", "-26-3-"),
        with("\"family\":26", "\"family\":2.6"), with("\"family\":26", "\"family\":26,\"family\":26"),
        with("\"model\":2", "\"model\":-2"), with("\"l2\":1048576", "\"l2\":-1"),
        with("\"l2\":1048576", "\"l2\":4611686018427387904"), with("AMD EPYC", "\\u001b[2J"), with("[{", "{"),
        with("250000000000.0", "-1"), with("250000000000.0", "1e300"), with("\"threads\":1", "\"threads\":0"),
        with("\"derived\":false", "\"derived\":0")}) {
    auto read = parseMachine(bad, "m.json");
    ASSERT_FALSE(read.has_value()) << bad;
    EXPECT_EQ(read.error().kind, ErrorKind::kPack);
    EXPECT_EQ(read.error().where, "m.json");
  }
}

/// A machine's files, below a folder.
class Files {
 public:
  Files() : root_(fs::temp_directory_path() / ("pet-machine-test-" + std::to_string(::getpid()))) {}
  ~Files() { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void cache(int index, const std::string& level, const std::string& type, const std::string& size) const {
    const std::string folder = "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    write(folder + "level", level + "\n");
    write(folder + "type", type + "\n");
    write(folder + "size", size + "\n");
  }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST(Machine, ThisOneIsReadFromItsFiles) {
  Files files;
  files.write("proc/cpuinfo",
              "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
              "flags\t\t: sse2 avx2 avx512f avx512bw avx512dq avx512vl\n\nprocessor\t: 1\nmodel\t\t: 3\n");
  files.cache(0, "1", "Data", "48K");
  files.cache(1, "1", "Instruction", "32K");
  files.cache(2, "2", "Unified", "1024K");
  files.cache(3, "3", "Unified", "32M");
  Machine expected = zen5();
  expected.l1d = 48 << 10;
  expected.l3 = 32 << 20;
  EXPECT_EQ(thisMachine(files.root()), expected);
}

TEST(Machine, AnArmAndNothingAtAllAreReadToo) {
  Files files;
  files.write("proc/cpuinfo",
              "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
              "CPU part\t: 0xd40\n");
  EXPECT_EQ(thisMachine(files.root()).name(), "0x41-8-3392-neon");
  EXPECT_EQ(thisMachine("/nonexistent").vendor, "");
  EXPECT_FALSE(thisMachine().name().empty());
}

// --- In timings ---

TEST(TimingsMachines, StandBeforeTheSamplesAndInBothForms) {
  Timings t;
  Machine m = zen5();
  m.add(ratesOf("1.31.1", 2.5e11));
  t.add(m);
  TimingSample sample;
  sample.rule = "r";
  sample.name = "n";
  sample.device = "ort-cpu";
  sample.isa = "avx512";
  sample.machine = m.name();
  sample.pattern = sample.replacement = 1;
  sample.moved = 4096;
  t.add(sample);
  const std::string text = print(t);
  EXPECT_THAT(text, StartsWith(print(m) + "\n{\"setting\":\""));
  EXPECT_EQ(parseTimings(text, "t").value(), t);
  const fs::path path = fs::temp_directory_path() / ("pet-machine-test-" + std::to_string(::getpid()) + ".timings");
  ASSERT_TRUE(writeTimings(t, path.string()));
  EXPECT_EQ(readTimings(path.string()).value(), t);
  fs::remove(path);
  auto open = OpenTimings::openBytes(text, "t");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->machines(), t.machines());
  EXPECT_EQ(open->samples("r", "ort-cpu").value(), t.samples("r", "ort-cpu"));
  EXPECT_EQ(open->layouts("ort-cpu").value().at(0).machine, m.name());
}

TEST(TimingsMachines, RatesOfOtherSettingsStay) {
  Timings t;
  Machine m = zen5(), later = zen5();
  m.add(ratesOf("1.30", 1e11));
  later.l3 = 1 << 25;
  later.add(ratesOf("1.31", 2e11));
  t.add(m);
  t.add(later);
  ASSERT_EQ(t.machines().size(), 1U);
  const Machine& kept = t.machines().begin()->second;
  EXPECT_EQ(kept.l3, 1 << 25);
  EXPECT_EQ(kept.rates.size(), 2U);
}

TEST(TimingsMachines, ABadOneIsRefusedWithItsLine) {
  for (const char* bad : {R"({"machine":"x"})", R"( { "machine" : 3 })"}) {
    EXPECT_EQ(parseTimings(std::string("\n") + bad, "t").error().where, "t:2");
    EXPECT_EQ(OpenTimings::openBytes(std::string("\n") + bad, "t").error().where, "t:2");
  }
}

}  // namespace
}  // namespace pet::machine_test
