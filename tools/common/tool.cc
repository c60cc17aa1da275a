#include "tools/common/tool.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

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
    case ErrorKind::kInternal:
      break;
  }
  return ExitCode::kInternal;
}

namespace {

/// One line, whatever the message holds: file names may hold line ends.
int complain(const CLI::App& app, std::string message, ExitCode code) {
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", app.get_name(), message);
  return code;
}

}  // namespace

int run(CLI::App& app, int argc, char** argv, const std::function<Expected<void>()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& e) {
    return complain(app, fmt::format("{} (see {} --help)", e.what(), app.get_name()), ExitCode::kUsage);
  }
  try {
    auto done = body();
    if (!done) return complain(app, done.error().message(), exitCode(done.error().kind));
    if (std::fflush(stdout) != 0)
      return complain(app, std::string("standard output: ") + std::strerror(errno), ExitCode::kUsage);
    return kOk;
  } catch (const std::bad_alloc&) {
    return complain(app, "out of memory", ExitCode::kInternal);
  } catch (const std::exception& e) {
    return complain(app, fmt::format("internal error: {} (please report it)", e.what()), ExitCode::kInternal);
  }
}

Expected<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return fail(ErrorKind::kUsage, std::string("cannot write: ") + std::strerror(errno), "standard output");
}

Progress::Progress(std::string what, size_t total)
    : what_(std::move(what)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::step(std::string_view detail) {
  ++done_;
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K{} {}/{} {}", what_, done_, total_, detail.substr(0, 50));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace pet::tool
