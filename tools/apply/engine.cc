#include "tools/apply/engine.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "applier/onnx/model.h"
#include "rules/pack/digest.h"
#include "tools/common/cache_folder.h"
#include "tools/common/scratch.h"

namespace pet::tool {
namespace {

constexpr int kMostRuns = 51;

Expected<std::string> usualCache() {
  if (auto folder = cacheFolder()) return (*folder / "measured.db").string();
  return fail(ErrorKind::kUsage, "no folder for the cache of measurements", "", "give one with --cache");
}

tl::unexpected<Error> runnerFailed(const RunnerError& error, const std::string& advice) {
  return fail(ErrorKind::kRunner, error.message, "", advice);
}

/// What the cache holds, if it is a list of lists of seconds, one for each model.
std::optional<std::vector<std::vector<double>>> samplesIn(const std::string& text, size_t models) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  try {
    auto samples = json.get<std::vector<std::vector<double>>>();
    if (samples.size() == models) return samples;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // of another version: timed again
  }
  return std::nullopt;
}

}  // namespace

Expected<Engine> Engine::start(Options options) {
  if (options.cache.empty()) {
    auto usual = usualCache();
    if (!usual) return tl::unexpected(usual.error());
    options.cache = std::move(*usual);
  }
  auto cache = Cache::open(options.cache);
  if (!cache) return tl::unexpected(cache.error());
  RunnerKeeper runner(options.command, options.timeout);
  auto hello = runner.hello();
  if (!hello) return runnerFailed(hello.error(), options.advice);
  return Engine(std::move(options), std::move(*cache), std::move(*hello), std::move(runner));
}

std::string Engine::keyOf(const Turns& turns) const {
  Digest digest;
  for (const std::string& field : {hello_.engine, hello_.version, hello_.machine.isa, hello_.machine.cpu})
    digest.add(field);
  digest.add(fmt::format("{} threads, {} s, {}, {}", options_.threads, turns.seconds, turns.cold ? "cold" : "warm",
                         options_.inProcessorTime ? "processor" : "clock"));
  for (const std::string& model : turns.models)
    digest.add(model);
  return digest.hex();
}

Expected<std::vector<std::vector<double>>> Engine::time(const Turns& turns) {
  const std::string key = keyOf(turns);
  auto known = cache_.find(key);
  if (!known) return tl::unexpected(known.error());
  if (*known) {
    if (auto samples = samplesIn(**known, turns.models.size())) return *samples;
  }
  Scratch folder("pet-apply");
  TimeRequest request{.models = {},
                      .runs = kMostRuns,
                      .threads = options_.threads,
                      .budgetSeconds = turns.seconds,
                      .cold = turns.cold,
                      .processorTime = options_.inProcessorTime};
  for (const std::string& bytes : turns.models) {
    request.models.push_back((folder.path() / fmt::format("{}.onnx", request.models.size())).string());
    if (auto ok = writeModel(bytes, request.models.back()); !ok) return tl::unexpected(ok.error());
  }
  auto answer = runner_.time(request);
  if (!answer) return runnerFailed(answer.error(), options_.advice);
  if (auto ok = cache_.put(key, nlohmann::json(answer->samples).dump()); !ok) return tl::unexpected(ok.error());
  return std::move(answer->samples);
}

}  // namespace pet::tool
