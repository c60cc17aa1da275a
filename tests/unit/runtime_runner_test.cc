#include <gmock/gmock.h>

#include "runtime/ort/client.h"

namespace pet::runtime_runner_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = RunnerError::Kind;

constexpr const char* kHello = R"({"engine": "e", "version": "1", "isa": "i", "cpu": "c"})";
constexpr const char* kTimes =
    R"({"samples": [[1, 2], [3]], "median": [1.5, 3], "p10": [1, 3], "p90": [2, 3], "max_abs_diff": [0, 0.5], "max_abs": 2})";

/// A runner that answers each request with the next of these lines; what is no JSON is run by the shell.
std::vector<std::string> script(const std::vector<std::string>& answers) {
  std::string text;
  for (const std::string& a : answers) {
    text += "read line; ";
    text += a.starts_with("{") ? "echo '" + a + "'; " : a + "; ";
  }
  return {"sh", "-c", text};
}

const TimeRequest kRequest{.models = {"a.onnx", "b.onnx"}};

/// What the runner makes of a request for the times of two models.
RunnerExpected<TimeAnswer> timeWith(const std::string& answer, double timeoutSeconds = 20) {
  auto runner = Runner::start(script({answer}));
  if (!runner) return tl::unexpected(runner.error());
  return runner->time(kRequest, timeoutSeconds);
}

TEST(Runner, ItsMachineIsReadAsFarAsItIsOne) {
  auto machine = [](const std::string& more) {
    auto runner = Runner::start(script({R"({"engine": "e", "version": "1", "isa": "i", )" + more + "}"}));
    return runner->hello(20).value().machine;
  };
  EXPECT_EQ(machine(R"("vendor": "V", "family": 26, "model": 2, "caches": [49152, 1048576, 33554432])"),
            (Machine{.vendor = "V", .family = 26, .model = 2, .isa = "i", .l1d = 49152, .l2 = 1 << 20, .l3 = 1 << 25}));
  EXPECT_EQ(machine(R"("vendor": 3, "family": -1, "model": 2.5, "caches": [true, 7])"), (Machine{.isa = "i", .l2 = 7}));
  EXPECT_EQ(machine(R"("family": 99999999999, "caches": "large")"), (Machine{.isa = "i"}));
}

TEST(Runner, AnswersAreRead) {
  auto runner = Runner::start(script({kHello, kTimes, kTimes}));
  ASSERT_TRUE(runner);
  auto hello = runner->hello(20);
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(hello->engine + hello->version + hello->machine.isa + hello->machine.cpu, "e1ic");
  EXPECT_EQ(hello->machine, (Machine{.cpu = "c", .isa = "i"}));
  for (int i = 0; i < 2; ++i) {
    auto times = runner->time(kRequest, 20);
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(times->samples, (std::vector<std::vector<double>>{{1, 2}, {3}}));
    EXPECT_EQ(times->median, (std::vector<double>{1.5, 3}));
    EXPECT_EQ(times->maxAbsDiff, (std::vector<double>{0, 0.5}));
    EXPECT_EQ(times->maxAbs, 2);
  }
}

TEST(Runner, TheRequestIsOneLineOfJson) {
  auto runner =
      Runner::start({"sh", "-c", R"sh(read -r line; printf '{"error": "%s"}\n' "$(echo "$line" | tr -d '"')")sh"});
  ASSERT_TRUE(runner);
  auto answer = runner->time({.models = {"x y.onnx"},
                              .runs = 7,
                              .warmup = 1,
                              .threads = 3,
                              .budgetSeconds = 2.5,
                              .cold = true,
                              .processorTime = true},
                             20);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Kind::kRefused);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("cmd:time"), HasSubstr("models:[x y.onnx]"), HasSubstr("runs:7"),
                                            HasSubstr("warmup:1"), HasSubstr("threads:3"), HasSubstr("budget_s:2.5"),
                                            HasSubstr("cold:true"), HasSubstr("processor_time:true")));
}

TEST(Runner, ARefusalLeavesItAlive) {
  auto runner = Runner::start(script({R"({"error": "no such file"})", kTimes}));
  auto refused = runner->time(kRequest, 20);
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().fatal());
  EXPECT_THAT(refused.error().message, HasSubstr("no such file"));
  EXPECT_TRUE(runner->time(kRequest, 20));
}

struct Failure {
  std::string name, answer;
  Kind kind;
  std::string message;
};

TEST(Runner, FailuresAreNamed) {
  auto without = [](const std::string& part) {
    std::string text = kTimes;
    return text.erase(text.find(part), part.size());
  };
  auto with = [](const std::string& part, const std::string& other) {
    std::string text = kTimes;
    return text.replace(text.find(part), part.size(), other);
  };
  const std::vector<Failure> failures = {
      {"dies", "exit 3", Kind::kDied, "ended with status 3"},
      {"dies with words", "echo first >&2; echo last words >&2; exit 1", Kind::kDied, "last words"},
      {"is killed", "kill -9 $$", Kind::kDied, "signal 9"},
      {"ends", "true", Kind::kDied, "ended with status 0"},
      {"hangs", "sleep 30", Kind::kTimedOut, "no answer in 0.5 s"},
      {"hangs within a line", "printf '{'; sleep 30", Kind::kTimedOut, "no answer in 0.5 s"},
      {"closes its output", "exec >&-; sleep 30", Kind::kDied, "closed its output"},
      {"talks", "echo hello there", Kind::kNonsense, "hello there"},
      {"a list", "echo '[1]'", Kind::kNonsense, "no JSON object"},
      {"a cut line", "printf '{\"samples\"\\n'", Kind::kNonsense, "no JSON object"},
      {"bytes", "printf '\\377\\376\\n'", Kind::kNonsense, "no JSON object"},
      {"no times", "{}", Kind::kNonsense, "times are none"},
      {"a field missing", without(R"("p90": [2, 3], )"), Kind::kNonsense, "times are none"},
      {"times of one model", with("[1.5, 3]", "[1.5]"), Kind::kNonsense, "times are none"},
      {"a time of zero", with("[1.5, 3]", "[0, 3]"), Kind::kNonsense, "times are none"},
      {"a negative time", with("[1, 2]", "[-1, 2]"), Kind::kNonsense, "times are none"},
      {"no samples", with("[1, 2]", "[]"), Kind::kNonsense, "times are none"},
      {"words for times", with("[1.5, 3]", "[\"fast\", 3]"), Kind::kNonsense, "times are none"},
      {"a difference that is none", with("[0, 0.5]", "[0, null]"), Kind::kNonsense, "times are none"},
  };
  for (const Failure& f : failures) {
    auto answer = timeWith(f.answer, f.kind == Kind::kTimedOut ? 0.5 : 20);
    ASSERT_FALSE(answer) << f.name;
    EXPECT_EQ(answer.error().kind, f.kind) << f.name << ": " << answer.error().message;
    EXPECT_TRUE(answer.error().fatal()) << f.name;
    EXPECT_THAT(answer.error().message, AllOf(HasSubstr("runner 'sh"), HasSubstr(f.message))) << f.name;
    EXPECT_EQ(answer.error().message.find('\n'), std::string::npos) << f.name;
  }
}

TEST(Runner, AfterAFailureItIsGone) {
  auto runner = Runner::start(script({"echo nonsense", kTimes}));
  EXPECT_FALSE(runner->time(kRequest, 20));
  auto again = runner->time(kRequest, 20);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Kind::kDied);
}

TEST(Runner, MissingOnesAreNamed) {
  for (std::string program : {"/no/such/python", "no-such-python-at-all", "/"}) {
    auto runner = Runner::start({program, "runner.py"});
    ASSERT_FALSE(runner);
    EXPECT_EQ(runner.error().kind, Kind::kMissing);
    EXPECT_THAT(runner.error().message, AllOf(HasSubstr(program + " runner.py"), HasSubstr("cannot start")));
  }
}

TEST(Runner, AHelloThatSaysNothingIsNonsense) {
  auto runner = Runner::start(script({R"({"engine": 5})"}));
  auto hello = runner->hello(20);
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().kind, Kind::kNonsense);
}

TEST(Runner, MuchOnStderrDoesNotBlock) {
  auto times = timeWith(std::string("yes on and on | head -c 1000000 >&2; echo '") + kTimes + "'");
  EXPECT_TRUE(times) << times.error().message;
}

TEST(Runner, LongAnswersArriveWhole) {
  auto times = timeWith(R"sh(printf '{"samples": [[1], [1'; yes ', 0.25' | head -n 50000 | tr -d '\n'
                             echo ']], "median": [1, 1], "p10": [1, 1], "p90": [1, 1], "max_abs_diff": [0, 0], "max_abs": 1}')sh");
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->samples[1].size(), 50001u);
}

TEST(RunnerKeeper, StartsAnotherAfterAFailureAndGivesUpAfterTwo) {
  RunnerKeeper keeper(script({kHello, "exit 1"}), 20);
  EXPECT_TRUE(keeper.hello());
  EXPECT_FALSE(keeper.time(kRequest));
  EXPECT_FALSE(keeper.hasGivenUp());
  EXPECT_TRUE(keeper.hello());  // a fresh one
  EXPECT_FALSE(keeper.time(kRequest));
  EXPECT_FALSE(keeper.time(kRequest));
  EXPECT_TRUE(keeper.hasGivenUp());
  EXPECT_THAT(keeper.lastFailure(), HasSubstr("times are none"));  // it said hello

  RunnerKeeper missing({"/no/such/python"}, 20);
  EXPECT_FALSE(missing.hello());
  EXPECT_TRUE(missing.hasGivenUp());
}

}  // namespace
}  // namespace pet::runtime_runner_test
