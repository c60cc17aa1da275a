#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "rules/text.h"
#include "runtime/ort/grid.h"
#include "runtime/rounding.h"
#include "tests/unit/text_file.h"

namespace pet::runtime_grid_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Grid grid(std::string_view text) {
  auto parsed = Grid::parse(text, "grid.json");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return *parsed;
}

TEST(Grid, PointsKeepTheirOrderAndTieTheOtherSymbols) {
  Grid g = grid(R"json({"ties": {"W": "H", "P": "floor((R - 1)/2)"},
                        "patterns": {"conv": {"points": [{"H": 7, "R": 5},
                                                         {"H": 4, "R": 3, "P": 0},
                                                         {"H": 1, "W": 2, "R": 1}]}}})json");
  EXPECT_THAT(g.points("conv", {"H", "W", "R", "P"}), ElementsAre(Bindings{{"H", 7}, {"W", 7}, {"R", 5}, {"P", 2}},
                                                                  Bindings{{"H", 4}, {"W", 4}, {"R", 3}, {"P", 0}},
                                                                  Bindings{{"H", 1}, {"W", 2}, {"R", 1}, {"P", 0}}));
}

TEST(Grid, APatternsOwnTiesComeFirst) {
  Grid g = grid(R"({"ties": {"P": 1}, "patterns": {"a": {"ties": {"P": "R - 1"}, "points": [{"R": 5}]},
                                                  "b": {"points": [{"R": 5}]}}})");
  EXPECT_THAT(g.points("a", {"R", "P"}), ElementsAre(Bindings{{"R", 5}, {"P", 4}}));
  EXPECT_THAT(g.points("b", {"R", "P"}), ElementsAre(Bindings{{"R", 5}, {"P", 1}}));
}

TEST(Grid, SymbolsThatThePatternLacksAreLeftOutAndPointsStandOnce) {
  Grid g = grid(R"({"patterns": {"a": {"points": [{"C": 1, "R": 3}, {"C": 1, "R": 5}, {"C": 2, "R": 5}]}}})");
  EXPECT_THAT(g.points("a", {"C"}), ElementsAre(Bindings{{"C", 1}}, Bindings{{"C", 2}}));
}

TEST(Grid, APatternThatIsLikeAnotherHasThePointsOfThatOneWithItsOwnTies) {
  Grid g = grid(R"({"ties": {"P": 1}, "patterns": {"a": {"points": [{"R": 5}, {"R": 7}, {"R": 9}]},
                                                  "b": {"like": "a", "first": 2, "ties": {"P": "R - 1"}, "points": [{"R": 3}]},
                                                  "c": {"like": "a"}}})");
  EXPECT_THAT(g.points("b", {"R", "P"}),
              ElementsAre(Bindings{{"R", 3}, {"P", 2}}, Bindings{{"R", 5}, {"P", 4}}, Bindings{{"R", 7}, {"P", 6}}));
  EXPECT_EQ(g.points("c", {"R", "P"}).size(), 3u);
}

TEST(Grid, OpsetsAreAPatternsOwn) {
  Grid g = grid(R"({"patterns": {"a": {"opsets": [19, 17], "points": []}, "b": {"like": "a"}}})");
  EXPECT_THAT(g.opsets("a"), ElementsAre(17, 19));
  EXPECT_THAT(g.opsets("b"), ElementsAre());
  EXPECT_THAT(g.opsets("c"), ElementsAre());
}

TEST(Grid, OtherPatternsGetAllCombinations) {
  Grid g = grid(R"({"otherwise": {"N": [1, 8], "C": [4], "F": ["C", 2]}})");
  EXPECT_THAT(g.points("x", {"N", "C", "F"}),
              ElementsAre(Bindings{{"N", 1}, {"C", 4}, {"F", 4}}, Bindings{{"N", 1}, {"C", 4}, {"F", 2}},
                          Bindings{{"N", 8}, {"C", 4}, {"F", 4}}, Bindings{{"N", 8}, {"C", 4}, {"F", 2}}));
  EXPECT_EQ(g.points("x", {"N", "Z"}).size(), 6u);  // a symbol that nothing is said of has a few values
  EXPECT_THAT(g.points("x", {}), ElementsAre(Bindings{}));
}

TEST(Grid, MistakesAreErrors) {
  auto error = [](std::string_view text) {
    auto parsed = Grid::parse(text, "my.json");
    return parsed ? "" : parsed.error().message();
  };
  EXPECT_THAT(error("{"), AllOf(HasSubstr("my.json"), HasSubstr("not a JSON object")));
  EXPECT_THAT(error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error(R"({"patterns": {"conv": {"points": []}, "conv": {"points": []}}})"),
              HasSubstr("\"conv\" stands twice in one object"));
  EXPECT_THAT(error(R"({"ties": 3})"), HasSubstr("\"ties\""));
  EXPECT_THAT(error(R"({"ties": {"W": 0.5}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"ties": {"W": "H +"}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"otherwise": {"W": [[1]]}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"patterns": []})"), HasSubstr("\"patterns\""));
  EXPECT_THAT(error(R"({"patterns": {"a": {}}})"), HasSubstr("a needs \"points\""));
  EXPECT_THAT(error(R"({"patterns": {"a": {"like": 3}}})"), HasSubstr("\"like\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"like": "b"}}})"), HasSubstr("a is like b"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"like": "a"}}})"), HasSubstr("a is like a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": [], "first": -1}}})"), HasSubstr("\"first\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": {}}}})"), HasSubstr("\"points\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"opsets": 17, "points": []}}})"), HasSubstr("\"opsets\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"opsets": ["17"], "points": []}}})"), HasSubstr("\"opsets\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"opsets": [0], "points": []}}})"), HasSubstr("\"opsets\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"opsets": [4294967313], "points": []}}})"), HasSubstr("\"opsets\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": [1]}}})"), HasSubstr("a point of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": [{"C": "x"}]}}})"), HasSubstr("\"C\""));
}

/// Why a point is none for a pattern: outside of its class, an extent of 0, or more than pet-tune takes by default.
std::string whyUnusable(const Pattern& pattern, const Bindings& point) {
  if (!pattern.shapes.contains(point)) return "not in the class";
  std::map<std::string, Expr> numbers;
  for (const auto& [symbol, value] : point)
    numbers.emplace(symbol, Expr(value));
  auto program = pattern.program.substitute(numbers);
  if (!program) return program.error().message();
  for (const Node& node : program->nodes()) {
    for (const Shape& shape : node.shapes) {
      if (std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return d.asConstant().value_or(0) < 1; }))
        return node.names[0] + " is " + str(shape);
    }
  }
  return multiplyAdds(*program, {}) <= 8'000'000'000 ? "" : "too much work";
}

/// Each pattern has points at which it can be timed; those that are listed for it are all of that kind.
TEST(Grid, TheShippedOneHasPointsForEachPattern) {
  const std::filesystem::path source = PET_SOURCE_DIR;
  std::string text = testing_support::textOf((source / "runtime/ort/grid.json").string());
  Grid g = grid(text);
  for (const auto& file : std::filesystem::directory_iterator(source / "rules/patterns")) {
    auto rules = parseRules(testing_support::textOf(file.path().string()), file.path().string());
    ASSERT_TRUE(rules.has_value()) << rules.error().message();
    const Pattern& pattern = rules->patterns.at(0);
    bool listed = text.find("\"" + pattern.name + "\": {") != std::string::npos;
    auto points = g.points(pattern.name, pattern.shapes.symbols);
    size_t usable = 0;
    for (const Bindings& point : points) {
      std::string why = whyUnusable(pattern, point), words;
      usable += why.empty();
      for (const auto& [symbol, value] : point)
        words += fmt::format(" {}={}", symbol, value);
      EXPECT_TRUE(why.empty() || !listed) << pattern.name << words << ": " << why;
    }
    EXPECT_GE(usable, 3U) << pattern.name;
    EXPECT_TRUE(points.size() <= 30 || !listed) << pattern.name << ": " << points.size() << " points";
  }
}

}  // namespace
}  // namespace pet::runtime_grid_test
