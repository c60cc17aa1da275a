// The C interface (include/pet/pet.h) over rewriteModel().

#include <array>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <pet/pet.h>

#include "library/call.h"
#include "rules/pack/file.h"
#include "tools/apply/arguments.h"
#include "tools/apply/command.h"
#include "tools/apply/report.h"
#include "tools/apply/rewrite.h"
#include "tools/common/scratch.h"
#include "tools/common/tool.h"

struct pet_result {
  std::string message, report, output, model;
  bool hasModel = false;
};

namespace {

using namespace pet;
using library::call;

/// Options that make sense on a command line only.
constexpr std::array kCommandOnly{"help", "version", "types", "explain", "quiet", "verbose"};

/// "--name=value", as the command line has it.
Expected<std::string> wordOf(const pet_option& option) {
  const std::string name = option.name ? option.name : "";
  if (name.empty() || name.find('=') != std::string::npos)
    return fail(ErrorKind::kUsage, "is no name of an option", "'" + name + "'");
  for (const char* refused : kCommandOnly) {
    if (name == refused) return fail(ErrorKind::kUsage, "is an option of the command alone", name);
  }
  const bool hasValue = option.value && *option.value;
  if (hasValue && option.value == std::string_view(tool::kStandardOutput))
    return fail(ErrorKind::kUsage, "standard output is for the command alone", name);
  return "--" + name + (hasValue ? std::string("=") + option.value : "");
}

/// The arguments of the command line, which says what is wrong with them.
Expected<tool::ApplyArguments> argumentsOf(const std::string& model,
                                           const char* pack,
                                           const pet_option* options,
                                           size_t count) {
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    auto word = wordOf(options[i]);
    if (!word) return tl::unexpected(word.error());
    words.push_back(std::move(*word));
  }
  CLI::App app("", "pet-apply");
  tool::ApplyArguments arguments;
  declareArguments(app, arguments);
  app.get_option("MODEL")->required(false);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    return fail(ErrorKind::kUsage, tool::usageMessage(app, e, words));
  }
  arguments.model = model;
  arguments.pack = pack ? pack : "";
  return arguments;
}

Expected<void> rewriteFile(tool::ApplyArguments arguments, pet_result& result) {
  auto done = tool::rewriteModel(arguments, [](std::string_view, double) {});
  if (!done) return tl::unexpected(done.error());
  result.report = tool::jsonOf(done->report, arguments);
  if (!arguments.dryRun) result.output = arguments.output;
  return {};
}

/// The error without the folder's path, which is gone when somebody reads it.
Error within(const std::string& folder, Error error) {
  for (std::string* text : {&error.what, &error.where, &error.advice}) {
    for (size_t at = text->find(folder); at != std::string::npos; at = text->find(folder))
      text->erase(at, folder.size());
  }
  return error;
}

/// By way of files: a model of a size that matters is larger than what the rewriter keeps in memory.
Expected<void> rewriteBytes(std::string_view model, tool::ApplyArguments arguments, pet_result& result) {
  if (!arguments.output.empty()) return fail(ErrorKind::kUsage, "--output is for models in files");
  tool::Scratch folder("pet");
  arguments.model = (folder.path() / "model.onnx").string();
  arguments.output = tool::defaultOutput(arguments.model);
  if (auto ok = writeFile(arguments.model, model); !ok) return ok;
  const std::string output = arguments.output;
  const bool isDry = arguments.dryRun;
  if (auto ok = rewriteFile(std::move(arguments), result); !ok)
    return tl::unexpected(within(folder.path().string() + "/", std::move(ok.error())));
  result.output.clear();
  result.hasModel = true;
  if (isDry) {
    result.model = model;
    return {};
  }
  auto bytes = readFile(output, ErrorKind::kInternal);
  if (!bytes) return tl::unexpected(bytes.error());
  result.model = std::move(*bytes);
  return {};
}

}  // namespace

pet_status pet_apply(
    const char* model, const char* pack, const pet_option* options, size_t option_count, pet_result** result) {
  return call(result, [&](pet_result& r) -> Expected<void> {
    auto arguments = argumentsOf(model ? model : "", pack, options, option_count);
    return arguments ? rewriteFile(std::move(*arguments), r) : tl::unexpected(arguments.error());
  });
}

pet_status pet_apply_bytes(const void* model,
                           size_t size,
                           const char* pack,
                           const pet_option* options,
                           size_t option_count,
                           pet_result** result) {
  return call(result, [&](pet_result& r) -> Expected<void> {
    auto arguments = argumentsOf("", pack, options, option_count);
    if (!arguments) return tl::unexpected(arguments.error());
    return rewriteBytes({static_cast<const char*>(model), size}, std::move(*arguments), r);
  });
}

const char* pet_result_message(const pet_result* result) {
  return result->message.c_str();
}

const char* pet_result_report(const pet_result* result) {
  return result->report.c_str();
}

const char* pet_result_output(const pet_result* result) {
  return result->output.c_str();
}

const void* pet_result_model(const pet_result* result, size_t* size) {
  *size = result->model.size();
  return result->hasModel ? result->model.data() : nullptr;
}

void pet_result_free(pet_result* result) {
  delete result;
}

const char* pet_version(void) {
  return tool::kVersion.data();
}
