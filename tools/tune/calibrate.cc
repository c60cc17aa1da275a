#include "tools/tune/calibrate.h"

#include <algorithm>

#include "applier/measure/scene.h"
#include "rules/gain/figures.h"
#include "rules/text.h"
#include "tools/common/scratch.h"
#include "tools/tune/jobs.h"
#include "tools/tune/subgraph.h"

namespace pet::tune {
namespace {

constexpr int kRuns = 60;             ///< of a model, at most
constexpr double kSecondsEach = 0.4;  ///< of a model

/// A program whose time gives a rate.
struct Yardstick {
  double Rates::*rate;
  const char* text;
  Bindings shapes;
};

constexpr const char* kProduct =
    "pattern product {\n shape M K N\n x: [M, K]\n w: const [K, N]\n y = MatMul(x, w)\n}\n";
constexpr const char* kConv =
    "pattern conv {\n shape C F H\n x: [1, C, H, H]\n w: const [F, C, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]\n}\n";
constexpr const char* kCopy = "pattern copy {\n shape M N\n x: [M, N]\n y = Relu(x)\n}\n";

/// Values of 64 MiB are beyond the caches of one core.
std::vector<Yardstick> yardsticks() {
  return {{&Rates::gemm, kProduct, {{"M", 512}, {"K", 512}, {"N", 512}}},
          {&Rates::gemm, kProduct, {{"M", 128}, {"K", 768}, {"N", 768}}},
          {&Rates::conv, kConv, {{"C", 64}, {"F", 64}, {"H", 56}}},
          {&Rates::conv, kConv, {{"C", 128}, {"F", 128}, {"H", 28}}},
          {&Rates::copy, kCopy, {{"M", 4096}, {"N", 4096}}}};
}

/// FLOP or bytes of a run.
double amountOf(const Yardstick& y, const Figures& figures) {
  constexpr double kFlops = 2, kBytes = 4;
  return y.rate == &Rates::copy ? kBytes * (figures.input + figures.output) : kFlops * figures.work;
}

}  // namespace

Expected<EngineRates> calibrate(RunnerKeeper& runner, const RunnerHello& engine, const Options& o) {
  EngineRates found{o.device, engine.engine, engine.version, o.threads, {}};
  tool::Scratch folder("pet-calibrate");
  const std::filesystem::path path = folder.path() / "yardstick.onnx";
  for (const Yardstick& y : yardsticks()) {
    auto rules = parseRules(y.text, "yardstick");
    if (!rules) return tl::unexpected(rules.error());
    const Program& program = rules->patterns[0].program;
    auto figures = figuresOf(program, y.shapes);
    auto concrete = program.substitute(exprsOf(y.shapes));
    if (!figures) return tl::unexpected(figures.error());
    if (!concrete) return tl::unexpected(concrete.error());
    if (auto ok = writeScene(*concrete, path); !ok) return tl::unexpected(ok.error());
    auto times =
        runner.time({.models = {path.string()}, .runs = kRuns, .threads = o.threads, .budgetSeconds = kSecondsEach});
    if (!times) return fail(ErrorKind::kRunner, times.error().message, "calibration", "go without: --no-calibrate");
    double& rate = found.rates.*y.rate;
    rate = std::max(rate, amountOf(y, *figures) / times->median[0]);
  }
  return found;
}

}  // namespace pet::tune
