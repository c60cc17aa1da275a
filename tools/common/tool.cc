#include "tools/common/tool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "ir/suggest.h"
#include "tools/common/memory_reserve.h"

namespace pet::tool {

ExitCode exitCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kUnsupported:
      return ExitCode::kUsage;
    case ErrorKind::kModel:
      return kBadModel;
    case ErrorKind::kPack:
    case ErrorKind::kText:
      return kBadPack;
    case ErrorKind::kCheck:
      return kCheckFailed;
    case ErrorKind::kRunner:
      return kRunnerFailed;
    case ErrorKind::kInternal:
      break;
  }
  return ExitCode::kInternal;
}

Error badText(Error error) {
  if (error.kind == ErrorKind::kUnsupported) error.kind = ErrorKind::kText;
  return error;
}

CLI::Validator isNamed() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "it names no file" : std::string(); }, "");
}

tl::unexpected<Error> unknownName(const std::string& what,
                                  const std::string& name,
                                  const std::vector<std::string>& known) {
  const std::string all = fmt::format("known: {}", fmt::join(known, ", "));
  return fail(ErrorKind::kUsage, "unknown " + what, name, suggestionAnd(name, known, all));
}

std::string oneLine(std::string message) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return message;
}

namespace {

int complain(const CLI::App& app, std::string message, ExitCode code) {
  message = oneLine(std::move(message));
  std::fflush(stdout);
  note(fmt::format("{}: {}\n", app.get_name(), message));
  return code;
}

/// A closed standard stream would give its number to the next file that is opened, which would then be written over.
/// What takes its place refuses to be read or written, as the closed one would.
void reserveStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool sameFile(const std::string& a, const std::string& b) {
  std::error_code none;
  bool exists = std::filesystem::exists(a, none);
  if (exists && !std::filesystem::is_regular_file(a, none)) return false;
  if (exists && std::filesystem::exists(b, none)) return std::filesystem::equivalent(a, b, none);
  return std::filesystem::weakly_canonical(a, none) == std::filesystem::weakly_canonical(b, none);
}

/// What a word means that stands for an option or subcommand which is not there: "did you mean '--quiet'?"
std::string meantBy(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> options, commands;
  std::vector<const CLI::App*> apps{&app};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(sub->get_name());
    if (sub->parsed()) apps.push_back(sub);
  }
  for (const CLI::App* each : apps) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames())
        options.push_back("--" + name);
    }
  }
  for (const std::string& whole : words) {
    const std::string word = whole.substr(0, whole.find('='));
    const bool isOption = word.starts_with("--");
    if (!isOption && (commands.empty() || apps.size() > 1)) continue;
    const auto& known = isOption ? options : commands;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (std::string meant = suggestion(word, known); !meant.empty()) return meant;
  }
  return "";
}

/// Where an option that may be given again has two values behind it: how it is given.
std::string givenAgain(const CLI::App& app, const std::vector<std::string>& words) {
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    const CLI::Option* option = words[i].starts_with("--") ? app.get_option_no_throw(words[i]) : nullptr;
    if (option && option->get_expected_max() > 1 && !words[i + 2].starts_with("-"))
      return fmt::format("{0} is given once for each: {0} {1} {0} {2};", words[i], words[i + 1], words[i + 2]);
  }
  return "";
}

}  // namespace

std::string usageMessage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  std::string meant = meantBy(app, words);
  if (meant.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    meant = givenAgain(app, words);
  return oneLine(fmt::format("{} ({}see {} --help)", error.what(), meant.empty() ? "" : meant + " ", app.get_name()));
}

std::string internalMessage(const std::exception& error) {
  return oneLine(fmt::format("internal error: {} (please report it)", error.what()));
}

namespace {

/// Whatever ends it, other than an exception that nobody expects.
int parseAndDo(CLI::App& app, int argc, char** argv, const std::function<Expected<void>()>& body) {
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    app.exit(help);
    if (std::cout.flush()) return kOk;
    return complain(app, "standard output: cannot write", ExitCode::kUsage);
  } catch (const CLI::ParseError& e) {
    return complain(app, usageMessage(app, e, {argv + 1, argv + argc}), ExitCode::kUsage);
  }
  auto done = body();
  if (!done) return complain(app, done.error().message(), exitCode(done.error().kind));
  if (std::fflush(stdout) != 0)
    return complain(app, std::string("standard output: ") + std::strerror(errno), ExitCode::kUsage);
  return kOk;
}

}  // namespace

int run(CLI::App& app, int argc, char** argv, const std::function<Expected<void>()>& body) {
  reserveStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of write(), not the end in its midst
  try {
    return parseAndDo(app, argc, argv, body);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return complain(app, internalMessage(e), ExitCode::kInternal);
  }
}

namespace {

const char* nameOfTool = "";                     ///< of the process, for ended()
std::terminate_handler handlerBefore = nullptr;  ///< that guard() found

void say(const char* what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", nameOfTool, what);
}

/// Where memory runs out in a destructor (nlohmann::json's takes some), nothing can catch it.
[[noreturn]] void ended() {
  try {
    if (auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    say(kOutOfMemory);
    std::_Exit(kInternal);
  } catch (...) {
  }
  if (handlerBefore) handlerBefore();
  std::abort();
}

}  // namespace

int guard(const char* tool, const std::function<int()>& body) {
  nameOfTool = tool;
  handlerBefore = std::set_terminate(ended);
  const char* what = "internal error: cannot start";
  try {
    const MemoryReserve reserve;
    return body();
  } catch (const std::bad_alloc&) {
    what = kOutOfMemory;
  } catch (...) {
  }
  say(what);
  return kInternal;
}

Expected<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return fail(ErrorKind::kUsage, std::string("cannot write: ") + std::strerror(errno), "standard output");
}

void note(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Expected<void> distinctFiles(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const std::string& other : inputs) {
      if (!outputs[i].empty() && !other.empty() && sameFile(outputs[i], other))
        return fail(ErrorKind::kUsage, "is an input and would be overwritten", outputs[i], "name another output");
    }
    for (size_t j = 0; j < i; ++j) {
      if (!outputs[i].empty() && !outputs[j].empty() && sameFile(outputs[i], outputs[j]))
        return fail(ErrorKind::kUsage, "is named for two outputs", outputs[i], "name another file for one of them");
    }
  }
  return {};
}

}  // namespace pet::tool
