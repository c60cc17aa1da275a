#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "ir/error.h"

// What every command does alike: exit codes, error lines.
namespace pet::tool {

/// 0 ok, 1 internal, 2 usage, 3 bad model, 4 bad pack or rule text, 5 check failed, 6 the runner of an engine failed.
enum ExitCode { kOk = 0, kInternal = 1, kUsage = 2, kBadModel = 3, kBadPack = 4, kCheckFailed = 5, kRunnerFailed = 6 };
ExitCode exitCode(ErrorKind kind);

/// For a reader to whom an operator that is not in the vocabulary is as bad as any other fault of a text.
Error badText(Error error);

/// What --version says.
inline constexpr std::string_view kVersion = "0.1";

/// Runs a command: its arguments are parsed, `body` does the work, and every way it can fail ends in one line on
/// standard error, "pet-rules: where: what (advice)", and in the exit code; only std::bad_alloc is left to guard().
/// --help and --version go to standard output.
int run(CLI::App& app, int argc, char** argv, const std::function<Expected<void>()>& body);

/// The body of a main(): memory that runs out is said in one line, wherever that is, in a destructor as well, and so is
/// what is thrown outside run(), while the arguments are declared. `tool`: its name. Once in a process.
int guard(const char* tool, const std::function<int()>& body);

/// For options and arguments that name a file or a folder: '' names none.
CLI::Validator isNamed();

/// The message without line ends and other control characters: names of files may hold any.
std::string oneLine(std::string message);

/// What is wrong with these words of a command line, in one line, with what a misspelt one stands for.
std::string usageMessage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words);
/// What an error says that was thrown and not expected, in one line.
std::string internalMessage(const std::exception& error);
/// The same where there is no memory; so short that a std::string of it needs none.
inline constexpr const char* kOutOfMemory = "out of memory";

/// kUsage: "unknown device" and its like, with what was meant and what there is.
tl::unexpected<Error> unknownName(const std::string& what,
                                  const std::string& name,
                                  const std::vector<std::string>& known);

/// Writes to standard output, all of it: a full disk is an error, not a short file.
Expected<void> print(std::string_view text);

/// Writes to standard error, as far as that is possible: what a command does never depends on it.
void note(std::string_view text);

/// Refuses outputs that would replace an input or each other. Empty names stand for files that were not asked for;
/// devices and pipes may come more than once.
Expected<void> distinctFiles(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace pet::tool
