// pet-run: runs an ONNX model on our own engine, on inputs from files or drawn.

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <sys/resource.h>

#include "rules/pack/file.h"
#include "tools/common/tool.h"
#include "tools/run/arguments.h"
#include "tools/run/npy.h"
#include "tools/run/plan_report.h"
#include "tools/run/report.h"

namespace {

using namespace pet;
using namespace pet::run;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t peakBytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : 0;
}

/// A file's name for a value, which may hold any character; none comes twice.
std::string fileName(const std::string& value, std::set<std::string>& taken) {
  std::string name;
  for (char c : value)
    name +=
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || (c == '.' && !name.empty()) ? c : '_';
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i)
    unique = fmt::format("{}_{}", name, i);
  return unique + ".npy";
}

/// All are made before any is written.
Expected<void> writeOutputs(const Arguments& o, RunReport& report) {
  if (o.outputFolder.empty()) return {};
  std::error_code code;
  std::filesystem::create_directories(o.outputFolder, code);
  if (code) return fail(ErrorKind::kUsage, code.message(), o.outputFolder);
  std::vector<std::string> contents;
  std::set<std::string> taken;
  for (OutputLine& line : report.outputs) {
    auto bytes = npyOf(line.value);
    if (!bytes) return fail(ErrorKind::kUsage, bytes.error().what, line.port.name);
    contents.push_back(std::move(*bytes));
    line.file = (std::filesystem::path(o.outputFolder) / fileName(line.port.name, taken)).string();
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    if (auto ok = writeFile(report.outputs[i].file, contents[i]); !ok) return ok;
  }
  return {};
}

/// What the files give, and the rest as it is drawn.
Expected<void> findInputs(const Arguments& o, const session::ModelSession& session, RunReport& report) {
  auto draw = drawOptions(o);
  if (!draw) return tl::unexpected(draw.error());
  auto feeds = readInputs(o, session.inputs());
  if (!feeds) return tl::unexpected(feeds.error());
  report.inputs = std::move(*feeds);
  for (const auto& [name, value] : report.inputs)
    draw->shapes[name] = value.extents;
  auto drawn = session::drawInputs(session, *draw);
  if (!drawn) {
    Error error = drawn.error();
    error.advice = "--bind NAME=8 or --shape INPUT=1x3x224x224 says it, --input gives the values";
    return tl::unexpected(error);
  }
  for (auto& [name, value] : *drawn) {
    if (report.inputs.try_emplace(name, std::move(value)).second) report.drawn.push_back(name);
  }
  return {};
}

/// The text to a file or to standard output, where the tables go if it is for a file.
Expected<void> tell(const Arguments& o, const std::string& json, const std::string& tables) {
  if (o.json == "-") return tool::print(json);
  if (!o.json.empty()) {
    if (auto ok = writeFile(o.json, json); !ok) return ok;
  }
  return tool::print(tables);
}

Expected<void> planModel(const Arguments& o, const tool::OwnEngine& engine, session::ModelSession& session) {
  RunReport drawn;
  if (auto ok = findInputs(o, session, drawn); !ok) return ok;
  std::map<std::string, Extents> extents;
  for (const auto& [name, value] : drawn.inputs)
    extents[name] = value.extents;
  if (auto ok = session.prepare(extents); !ok) return ok;
  auto kernels = engine.gpu->kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const PlanReport report{engine.gpu->name(), engine.precision, session.notes(), std::move(*kernels),
                          engine.gpu->planCounts()};
  return tell(o, json(report, o), tables(report));
}

Expected<void> runModel(const Arguments& o) {
  if (!o.json.empty() && o.json != "-") {
    if (auto ok = tool::distinctFiles({o.json}, {o.model}); !ok) return ok;
    if (auto ok = checkWritable(o.json); !ok) return ok;
  }
  RunReport report;
  double begin = now();
  auto engine = engineOf(o);
  if (!engine) return tl::unexpected(engine.error());
  report.engine = engine->name;
  report.version = engine->version;
  auto session = session::ModelSession::open(o.model, engine->engines);
  if (!session) return tl::unexpected(session.error());
  report.loadSeconds = now() - begin;
  if (!o.engine.plan.empty()) return planModel(o, *engine, **session);
  if (auto ok = findInputs(o, **session, report); !ok) return ok;
  std::vector<Constant> outputs;
  for (int run = 0; run < o.runs; ++run) {
    begin = now();
    auto results = (*session)->run(report.inputs);
    if (!results) return tl::unexpected(results.error());
    report.runSeconds.push_back(now() - begin);
    outputs = std::move(*results);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    report.outputs.push_back({(*session)->outputs()[i], std::move(outputs[i]), ""});
  report.notes = (*session)->notes();
  if (o.profile) {
    auto steps = (*session)->profile(report.inputs);
    if (!steps) return tl::unexpected(steps.error());
    report.steps = std::move(*steps);
  }
  if (engine->gpu) report.plans = engine->gpu->planCounts();
  report.arenaBytes = (*session)->arenaBytes();
  report.peakBytes = peakBytes();
  if (auto ok = writeOutputs(o, report); !ok) return ok;
  return tell(o, json(report, o), tables(report, o));
}

int runTool(int argc, char** argv) {
  CLI::App app("Runs an ONNX model on our own engine.", "pet-run");
  app.footer(
      "Inputs that are not given are drawn: floats within -1 and 1, integers and truth values 0 or 1.\n"
      "Exit codes: 0 ok, 1 internal error, 2 usage, 3 bad model.");
  Arguments arguments;
  declareArguments(app, arguments);
  return tool::run(app, argc, argv, [&] { return runModel(arguments); });
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard("pet-run", [&] { return runTool(argc, argv); });
}
