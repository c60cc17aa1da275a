#include "tools/apply/command.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/shell.h"

namespace pet::tool {
namespace {

/// Options as a shell reads them.
class Options {
 public:
  void flag(const char* name, bool given) {
    if (given) all_.emplace_back(name);
  }
  void value(const char* name, const std::string& value, const std::string& usual) {
    if (value != usual) all_.push_back(fmt::format("{} {}", name, shellWord(value)));
  }
  void list(const char* name, const std::vector<std::string>& values) {
    if (!values.empty())
      all_.push_back(fmt::format("{} {}", name, shellWord(fmt::format("{}", fmt::join(values, ",")))));
  }
  void each(const char* name, const std::vector<std::string>& values) {
    for (const std::string& v : values)
      value(name, v, "");
  }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

std::string number(double value) {
  return fmt::format("{:g}", value);
}

/// Which programs and caches are used.
std::vector<std::string> helpersOf(const ApplyArguments& o) {
  Options options;
  options.value("--python", o.python, "");
  options.value("--runner", o.runner, "");
  options.value("--cache", o.cache, "");
  options.value("--checker", o.checker, "");
  return options.take();
}

}  // namespace

std::vector<std::string> choicesOf(const ApplyArguments& o) {
  const ApplyArguments usual;
  Options options;
  options.flag("--all", o.all);
  options.list("--only", o.only);
  options.list("--skip", o.skip);
  options.list("--site", o.sites);
  options.list("--bind", o.sizes.bind);
  options.list("--shape", o.sizes.shapes);
  options.list("--assume", o.sizes.assume);
  options.each("--expect", o.sizes.expect);
  options.value("--device", o.device, usual.device);
  options.flag("--guess", o.guess);
  options.value("--timings", o.timings, "");
  options.value("--more-timings", o.moreTimings, "");
  options.value("--machine", o.machine, usual.machine);
  options.flag("--freeze-inputs", o.freezeInputs);
  options.value("--check", o.check, usual.check);
  options.value("--seed", o.seed, usual.seed);
  options.list("--max-rel-error", o.maxRelativeError);
  options.value("--numerics", o.numerics, usual.numerics);
  options.value("--min-gain", number(o.minGain), number(usual.minGain));
  options.value("--max-growth", o.maxGrowth ? number(*o.maxGrowth) : "", "");
  options.flag("--keep-invalid", o.keepInvalid);
  options.flag("--measure", o.measure);
  options.value("--budget", number(o.budget), number(usual.budget));
  options.value("--threads", std::to_string(o.threads), std::to_string(usual.threads));
  options.flag("--trust-pack", o.trustPack);
  return options.take();
}

std::string againWith(const ApplyArguments& o, const std::string& option) {
  std::string text = "pet-apply " + shellWord(o.model);
  if (!o.pack.empty()) text += " " + shellWord(o.pack);
  if (!o.output.empty() && o.output != defaultOutput(o.model)) text += " -o " + shellWord(o.output);
  const std::string name = option.substr(0, option.find(' '));
  for (const std::string& each : choicesOf(o)) {
    const bool replaced = each.substr(0, each.find(' ')) == name && name != "--assume";
    if (!replaced) text += " " + each;
  }
  for (const std::string& each : helpersOf(o))
    text += " " + each;
  return option.empty() ? text : text + " " + option;
}

std::string defaultOutput(const std::string& model) {
  std::filesystem::path path(model);
  return path.replace_extension(".pet.onnx").string();
}

}  // namespace pet::tool
