#include "tools/tune/tuner.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/tune/subgraph.h"

namespace pet::tune {
namespace {

constexpr double kMaxDifference = 1e-3;  ///< relative to max|output|: beyond, it is no rounding

Expected<Row> unbuilt(const Error& error) {
  if (error.kind != ErrorKind::kUnsupported) return tl::unexpected(error);
  return Row{.note = error.message()};
}

double spread(const TimeAnswer& a) {
  double widest = 0;
  for (size_t i = 0; i < a.median.size(); ++i)
    widest = std::max(widest, (a.p90[i] - a.p10[i]) / a.median[i]);
  return widest;
}

}  // namespace

Folder::Folder(std::string given) : path_(std::move(given)), mine_(path_.empty()) {
  if (mine_) path_ = (std::filesystem::temp_directory_path() / fmt::format("pet-tune-{}", ::getpid())).string();
  std::error_code ignored;  // what cannot be made cannot be written to, which is reported
  std::filesystem::create_directories(path_, ignored);
}

Folder::~Folder() {
  std::error_code ignored;
  if (mine_) std::filesystem::remove_all(path_, ignored);
}

TimingSample Tuner::blank(const Job& job) const {
  return {
      job.hash, job.rule->name, o_.device, job.shapes, engine_.engine, engine_.version, engine_.isa, o_.threads, 0, 0,
      0,        date_};
}

Expected<Row> Tuner::measure(const Job& job) {
  auto models = modelsOf(job, true, nextStem());
  if (!models) return unbuilt(models.error());
  auto answer = time(*models, !o_.warm);
  if (!answer) return Row{.note = answer.error().message};
  if (answer->maxAbsDiff[1] > kMaxDifference * answer->maxAbs) {
    differs_ = true;
    return Row{.note = fmt::format("outputs differ by {:.2g} of {:.2g}", answer->maxAbsDiff[1], answer->maxAbs)};
  }
  TimingSample sample = blank(job);
  sample.pattern = answer->median[0];
  sample.replacement = answer->median[1];
  sample.spread = spread(*answer);
  Row row{Row::Kind::kTimed, sample};
  if (o_.noBare) return row;
  auto alone = modelsOf(job, false, nextStem());
  if (!alone) return unbuilt(alone.error());
  if (auto bare = time(*alone, false)) row.bare = bare->median[0] / bare->median[1];
  return row;
}

Expected<std::string> Tuner::control(const Job& job) {
  auto models = modelsOf(job, true, nextStem());
  if (!models) return unbuilt(models.error()).map([](const Row& row) { return row.note; });
  auto answer = time({(*models)[0], (*models)[0]}, !o_.warm);
  if (!answer) return answer.error().message;
  return fmt::format("{:.3f} (spread {:.2f})", answer->median[0] / answer->median[1], spread(*answer));
}

RunnerExpected<TimeAnswer> Tuner::time(const std::vector<std::string>& models, bool cold) {
  auto answer = runner_.time(
      {.models = models, .runs = o_.runs, .threads = o_.threads, .budgetSeconds = o_.secondsPerPoint, .cold = cold});
  std::error_code ignored;
  for (const std::string& path : models) {
    if (o_.keep.empty()) std::filesystem::remove(path, ignored);
  }
  return answer;
}

}  // namespace pet::tune
