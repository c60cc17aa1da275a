#include "tools/run/arguments.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/common/tool.h"
#include "tools/run/npy.h"

namespace pet::run {
namespace {

std::optional<int64_t> extentOf(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

/// "1x3x224x224"
std::optional<Extents> extentsOf(std::string_view text) {
  Extents extents;
  for (;;) {
    const size_t x = text.find('x');
    auto extent = extentOf(text.substr(0, x));
    if (!extent) return std::nullopt;
    extents.push_back(*extent);
    if (x == std::string_view::npos) return extents;
    text = text.substr(x + 1);
  }
}

tl::unexpected<Error> otherForm(const char* option, const std::string& text, const char* example) {
  return fail(ErrorKind::kUsage, fmt::format("{} {}: not of the form {}", option, text, example));
}

bool isOneOf(const std::string& name, const std::vector<session::Port>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const session::Port& p) { return p.name == name; });
}

}  // namespace

void declareArguments(CLI::App& app, Arguments& o) {
  app.add_option("MODEL", o.model, "an ONNX model")->required();
  app.add_option("-i,--input", o.inputs, "an input's values, a .npy file: NAME=FILE, or FILE where there is one input")
      ->check(tool::isNamed())
      ->allow_extra_args(false);
  app.add_option("-o,--output-dir", o.outputFolder, "write each output to NAME.npy in this folder, made where missing")
      ->check(tool::isNamed());
  app.add_option("--bind", o.bind, "an extent that the model leaves open, for inputs that are drawn: batch=8")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--shape", o.shapes, "all extents of an input that is drawn: x=1x3x224x224")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--seed", o.seed, "of the inputs that are drawn")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", o.threads, "of the engine")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--runs", o.runs, "run so many times, for the timings")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_flag("--winograd,!--no-winograd", o.winograd, "convolutions may use Winograd's algorithm (the default)");
  app.add_flag("--profile", o.profile, "then run step by step, and say what each takes");
  declareEngine(app, o.engine);
  app.add_option(
         "--plan", o.engine.plan,
         "run nothing, but say how each node would be computed on a GPU that need not be there: h100, h200, a100, l4, "
         "rtx5090, b200, or a file of its properties")
      ->check(tool::isNamed());
  app.add_option(
         "--cache", o.engine.cache,
         "where a GPU's plans and compiled kernels are kept (default ~/.cache/pet/plans.db; with --plan: nowhere)")
      ->check(tool::isNamed());
  app.add_option("--json", o.json, "write what was done to this file; - is standard output, in place of the tables")
      ->check(tool::isNamed());
}

Expected<tool::OwnEngine> engineOf(const Arguments& o) {
  if (!o.engine.plan.empty() && (o.engine.device != "cpu" || !o.outputFolder.empty()))
    return fail(ErrorKind::kUsage, "--plan runs nothing: it does not go with --device and --output-dir");
  if (!o.engine.plan.empty() && o.profile)
    return fail(ErrorKind::kUsage, "--plan runs nothing: it does not go with --profile");
  OneDnnOptions processor;
  processor.threads = o.threads;
  processor.winograd = o.winograd;
  return tool::openEngine(o.engine, processor);
}

Expected<session::DrawOptions> drawOptions(const Arguments& o) {
  session::DrawOptions options{.seed = o.seed, .positive = false, .dims = {}, .shapes = {}};
  for (const std::string& text : o.bind) {
    const size_t at = text.rfind('=');
    auto extent = at == std::string::npos ? std::nullopt : extentOf(std::string_view(text).substr(at + 1));
    if (!extent || at == 0) return otherForm("--bind", text, "batch=8");
    options.dims[text.substr(0, at)] = *extent;
  }
  for (const std::string& text : o.shapes) {
    const size_t at = text.rfind('=');
    auto extents = at == std::string::npos ? std::nullopt : extentsOf(std::string_view(text).substr(at + 1));
    if (!extents || at == 0) return otherForm("--shape", text, "x=1x3x224x224");
    options.shapes[text.substr(0, at)] = *extents;
  }
  return options;
}

Expected<session::Feeds> readInputs(const Arguments& o, const std::vector<session::Port>& inputs) {
  session::Feeds feeds;
  std::vector<std::string> names;
  for (const session::Port& port : inputs)
    names.push_back(port.name);
  for (const std::string& text : o.inputs) {
    // Names and paths may hold any character: a name of the model's in front is one.
    size_t at = text.find('=');
    while (at != std::string::npos && !isOneOf(text.substr(0, at), inputs))
      at = text.find('=', at + 1);
    const bool hasName = at != std::string::npos;
    if (!hasName && (inputs.size() != 1 || text.find('=') != std::string::npos))
      return fail(ErrorKind::kUsage, fmt::format("--input {}: no input has this name", text), o.model,
                  fmt::format("NAME=FILE, with a name of {}", fmt::join(names, ", ")));
    const std::string name = hasName ? text.substr(0, at) : names[0];
    auto tensor = readNpy(hasName ? text.substr(at + 1) : text);
    if (!tensor) return tl::unexpected(tensor.error());
    if (!feeds.emplace(name, std::move(*tensor)).second)
      return fail(ErrorKind::kUsage, fmt::format("--input: '{}' is given twice", name), o.model);
  }
  return feeds;
}

}  // namespace pet::run
