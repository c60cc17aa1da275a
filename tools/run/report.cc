#include "tools/run/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "ir/quantile.h"
#include "tools/common/table.h"
#include "tools/engine/step_json.h"
#include "tools/run/plan_report.h"

namespace pet::run {
namespace {

using Json = nlohmann::ordered_json;

struct Statistics {
  double least = 0, most = 0, mean = 0;
};

std::vector<double> numbersIn(const Constant& tensor) {
  if (auto numbers = tensor.numbers()) return std::move(*numbers);
  const Tensor<int64_t> integers = tensor.values<int64_t>();
  return {integers.data.begin(), integers.data.end()};
}

Statistics statisticsOf(const Constant& tensor) {
  const std::vector<double> numbers = numbersIn(tensor);
  if (numbers.empty()) return {};
  Statistics s{numbers[0], numbers[0], 0};
  for (double x : numbers) {
    s.least = std::min(s.least, x);
    s.most = std::max(s.most, x);
    s.mean += x / static_cast<double>(numbers.size());
  }
  return s;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3g} ms", 1e3 * seconds);
}

Json tensorOf(const std::string& name, const Constant& value) {
  return {{"name", name}, {"type", session::numpyName(value.element)}, {"shape", value.extents}};
}

/// What a step is, in a few words: a plan's name may be long.
std::string shortened(const std::string& how) {
  constexpr size_t kMost = 60;
  return how.size() <= kMost ? how : how.substr(0, kMost - 3) + "...";
}

/// The steps that take the longest.
std::string stepTable(std::vector<StepTime> steps) {
  constexpr size_t kMostSteps = 25;
  if (steps.empty()) return "";
  double all = 0;
  for (const StepTime& step : steps)
    all += step.seconds;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepTime& a, const StepTime& b) { return a.seconds > b.seconds; });
  std::vector<std::vector<std::string>> rows{{"MS", "SHARE", "NODE", "OPERATOR", "HOW"}};
  for (size_t i = 0; i < std::min(steps.size(), kMostSteps); ++i) {
    const StepTime& step = steps[i];
    rows.push_back({fmt::format("{:.4f}", 1e3 * step.seconds), fmt::format("{:.1f} %", 100 * step.seconds / all),
                    step.node.empty() ? "(outputs)" : step.node, step.op, shortened(step.how)});
  }
  const std::string more =
      steps.size() > kMostSteps ? fmt::format("and {} more (--json)\n", steps.size() - kMostSteps) : "";
  return tool::table(rows) + more +
         fmt::format("steps: {}, one after the other in {}\n\n", steps.size(), milliseconds(all));
}

}  // namespace

std::string tables(const RunReport& report, const Arguments& o) {
  std::vector<std::vector<std::string>> rows{{"OUTPUT", "TYPE", "SHAPE", "MIN", "MAX", "MEAN"}};
  for (const OutputLine& line : report.outputs) {
    const Statistics s = statisticsOf(line.value);
    rows.push_back({line.port.name, std::string(session::numpyName(line.value.element)), str(line.value.extents),
                    fmt::format("{:.6g}", s.least), fmt::format("{:.6g}", s.most), fmt::format("{:.6g}", s.mean)});
  }
  std::string text = stepTable(report.steps) + tool::table(rows);
  if (!report.drawn.empty()) text += fmt::format("drawn with seed {}: {}\n", o.seed, fmt::join(report.drawn, ", "));
  text += fmt::format("loaded in {}, ran in {}", milliseconds(report.loadSeconds), milliseconds(report.runSeconds[0]));
  if (report.runSeconds.size() > 1) {
    const std::vector<double> later(report.runSeconds.begin() + 1, report.runSeconds.end());
    text += fmt::format(", then in {} (median of {})", milliseconds(quantile(later, 0.5)), later.size());
  }
  const auto alone =
      std::count_if(report.notes.begin(), report.notes.end(), [](const EngineNote& n) { return n.reference; });
  return text + (alone == 0 ? "\n" : fmt::format("; {} nodes one by one\n", alone));
}

std::string json(const RunReport& report, const Arguments& o) {
  Json inputs = Json::array(), outputs = Json::array(), alone = Json::array();
  for (const auto& [name, value] : report.inputs) {
    inputs.push_back(tensorOf(name, value));
    inputs.back()["drawn"] = std::find(report.drawn.begin(), report.drawn.end(), name) != report.drawn.end();
  }
  auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  for (const OutputLine& line : report.outputs) {
    const Statistics s = statisticsOf(line.value);
    outputs.push_back(tensorOf(line.port.name, line.value));
    outputs.back().update({{"min", finite(s.least)}, {"max", finite(s.most)}, {"mean", finite(s.mean)}});
    if (!line.file.empty()) outputs.back()["file"] = line.file;
  }
  for (const EngineNote& note : report.notes) {
    if (note.reference) alone.push_back({{"node", note.node}, {"op", note.op}, {"how", note.how}});
  }
  Json all{{"model", o.model},
           {"engine", report.engine},
           {"version", report.version},
           {"threads", o.threads},
           {"seed", o.seed},
           {"inputs", inputs},
           {"outputs", outputs},
           {"load_seconds", report.loadSeconds},
           {"run_seconds", report.runSeconds},
           {"reference", alone},
           {"arena_bytes", report.arenaBytes},
           {"peak_bytes", report.peakBytes}};
  if (report.plans) all["plans"] = jsonOf(*report.plans);
  if (o.profile) all["steps"] = tool::jsonOf(report.steps);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pet::run
