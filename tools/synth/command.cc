#include "tools/synth/command.h"

#include <filesystem>

#include <fmt/format.h>

#include "ir/suggest.h"
#include "tools/common/last_words.h"
#include "tools/common/tool.h"
#include "tools/synth/free.h"
#include "tools/synth/prove.h"

namespace pet::tool {
namespace {

/// A subcommand that is misspelt is taken for a pattern's file.
Expected<void> checkSpelling(const CLI::App& app, const std::vector<std::string>& patterns) {
  std::error_code ignored;
  if (patterns.empty() || std::filesystem::exists(patterns[0], ignored)) return {};
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  const std::string meant = suggestion(patterns[0], names);
  if (meant.empty()) return {};
  return fail(ErrorKind::kUsage, "there is neither a file nor a subcommand of that name", patterns[0], meant);
}

/// The command line: its arguments are in it.
struct CommandLine {
  CommandLine() {
    app.footer(
        "Exit codes: 0 ok, 1 internal error or out of memory, 2 usage, 3 bad model, 4 bad pattern or rule text, bad "
        "checkpoint, "
        "5 a candidate is not proved.");
    declareSearch(app, searchArguments);
    proveCommand = app.add_subcommand("prove", "decide candidates in text files; exit code 5 unless all are proved");
    declareProve(*proveCommand, proveOptions);
    declareFree(*app.add_subcommand("free", "all graphs over a vocabulary, and the rules between them"), freeOptions);
  }

  CLI::App app{
      "Enumerates mutants of canonical patterns, proves them for every shape, and writes the rules as a pack.\n\n"
      "    pet-synth --depth 4 > rules.db\n"
      "    pet-synth --from model.onnx -o mine.db\n"
      "    mpirun -n 8 pet-synth --depth 4 -o rules.db --checkpoint rules.run --resume\n"
      "    pet-synth prove pair.pet\n"
      "    pet-synth free --vocab taso.vocab --depth 3 -o free.db\n",
      "pet-synth"};
  SearchArguments searchArguments;
  ProveOptions proveOptions;
  FreeOptions freeOptions;
  CLI::App* proveCommand = nullptr;

  /// None: a search over patterns.
  const CLI::App* subcommand() const {
    auto parsed = app.get_subcommands();
    return parsed.empty() ? nullptr : parsed.front();
  }
};

}  // namespace

int petSynth(int argc, char** argv, const Processes& processes) {
  const LastWords words("pet-synth");
  CommandLine line;
  return run(line.app, argc, argv, [&]() -> Expected<void> {
    const CLI::App* command = line.subcommand();
    if (!command) {
      PET_TRY(checkSpelling(line.app, line.searchArguments.patterns));
      return search(line.searchArguments, processes);
    }
    if (line.app.count_all() > command->count_all() + 1)
      return fail(ErrorKind::kUsage, fmt::format("options and patterns before '{}'", command->get_name()), "",
                  "put them after it");
    return command == line.proveCommand ? prove(line.proveOptions) : free(line.freeOptions);
  });
}

Expected<void> serveSearch(int argc, char** argv, const Serve& serve) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError&) {
    return {};
  }
  if (line.subcommand() || !line.searchArguments.from.patternsTo.empty()) return {};
  line.searchArguments.quiet = true;  // the terminal is another process's
  auto opened = openSearch(line.searchArguments);
  if (!opened) return tl::unexpected(opened.error());
  return serve(opened->search, {.threads = std::max(1, line.searchArguments.threads)});
}

}  // namespace pet::tool
