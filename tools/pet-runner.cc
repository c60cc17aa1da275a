// pet-runner: times and runs ONNX models on our own engine; answers the same JSON lines as runtime/ort/runner.py.

#include <cstdio>
#include <iostream>

#include <unistd.h>

#include "tools/common/tool.h"
#include "tools/runner/serve.h"

namespace {

using namespace pet;

int answerLines(int argc, char** argv) {
  CLI::App app(
      "Runs and times ONNX models on our own engine: one request per line on stdin, one answer per line on stdout.",
      "pet-runner");
  app.footer("The requests are described in docs/command-line.md.\nExit codes: 0 ok, 1 internal error, 2 usage.");
  tool::EngineChoice choice;
  declareEngine(app, choice);
  int cpu = -1;
  app.add_option("--cpu", cpu, "the CPU to pin measurements to; by default the highest that the process may use")
      ->check(CLI::NonNegativeNumber);
  return tool::run(app, argc, argv, [&]() -> Expected<void> {
    runner::Affinity affinity(cpu);
    affinity.hold();
    auto engine = openEngine(choice, OneDnnOptions());
    if (!engine) return tl::unexpected(engine.error());
    const auto target = engine->gpu ? runner::gpuTarget(std::move(*engine), choice.device, affinity)
                                    : runner::processorTarget(affinity);
    // stdout is for answers alone: what the engine prints on descriptor 1 goes to stderr.
    std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
    if (!answers || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return fail(ErrorKind::kInternal, "no stdout to answer on");
    runner::serve(
        std::cin,
        [&](const std::string& line) {
          std::fprintf(answers, "%s\n", line.c_str());
          std::fflush(answers);
        },
        *target);
    std::fclose(answers);
    return {};
  });
}

}  // namespace

int main(int argc, char** argv) {
  return tool::guard("pet-runner", [&] { return answerLines(argc, argv); });
}
