#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "runtime/ort/grid.h"

namespace pet {
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
  EXPECT_THAT(error(R"({"ties": 3})"), HasSubstr("\"ties\""));
  EXPECT_THAT(error(R"({"ties": {"W": 0.5}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"ties": {"W": "H +"}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"otherwise": {"W": [[1]]}})"), HasSubstr("\"W\""));
  EXPECT_THAT(error(R"({"patterns": []})"), HasSubstr("\"patterns\""));
  EXPECT_THAT(error(R"({"patterns": {"a": {}}})"), HasSubstr("a needs \"points\""));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": {}}}})"), HasSubstr("\"points\" of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": [1]}}})"), HasSubstr("a point of a"));
  EXPECT_THAT(error(R"({"patterns": {"a": {"points": [{"C": "x"}]}}})"), HasSubstr("\"C\""));
}

TEST(Grid, TheShippedOneIsRight) {
  std::ifstream file(PET_SOURCE_DIR "/runtime/ort/grid.json");
  std::stringstream text;
  text << file.rdbuf();
  Grid g = grid(text.str());
  for (const char* pattern : {"conv", "conv-d2", "conv-s2"}) {
    auto points = g.points(pattern, {"N", "C", "H", "W", "F", "R", "S", "P", "Q"});
    EXPECT_GE(points.size(), 10u) << pattern;
    for (const Bindings& p : points)
      EXPECT_EQ(p.size(), 9u) << pattern;
  }
}

}  // namespace
}  // namespace pet
