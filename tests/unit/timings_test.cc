#include "rules/pack/timings.h"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rules/pack/file.h"

namespace pet::timings_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TimingSample sample(const std::string& name, int64_t channels, double ratio) {
  return {.rule = name + "-hash",
          .name = name,
          .device = "ort-cpu",
          .shapes = {{"C", channels}, {"N", 1}},
          .engine = "onnxruntime",
          .version = "1.30.0",
          .isa = "avx512",
          .threads = 1,
          .pattern = 0.001 * ratio,
          .replacement = 0.001,
          .spread = 0.02,
          .date = "2026-11-21"};
}

Timings someTimings() {
  Timings t;
  t.add(sample("b", 128, 0.5));
  t.add(sample("a", 64, 2));
  TimingSample layouts = sample("a", 8, 1.5);
  layouts.opening = 0.0001;
  layouts.moved = 4096;
  layouts.weights = "warm";
  t.add(layouts);
  return t;
}

TEST(Timings, AnswerByRuleAndDevice) {
  Timings t = someTimings();
  auto found = t.samples("a-hash", "ort-cpu");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(t.samples("a-hash", "onednn").empty());
  EXPECT_TRUE(t.samples("a", "ort-cpu").empty());
}

TEST(Timings, ALaterSampleOfTheSameSettingReplacesTheEarlier) {
  Timings t = someTimings(), later;
  later.add(sample("a", 64, 3));
  TimingSample threads = sample("a", 64, 4);
  threads.threads = 2;
  later.add(threads);
  TimingSample warm = sample("a", 64, 5);
  warm.weights = "warm";
  later.add(warm);
  t.merge(later);
  ASSERT_EQ(t.all().size(), 5U);
  std::vector<double> ratios;
  for (const TimingSample& s : t.samples("a-hash", "ort-cpu"))
    ratios.push_back(s.ratio());
  EXPECT_THAT(ratios, ::testing::UnorderedElementsAre(1.5, 3, 4, 5));
}

/// As an older pet wrote it: a sample says its setting itself.
const std::string kWholeSample =
    R"({"name":"a","rule":"a-hash","device":"ort-cpu","shapes":{"C":8,"N":1},"pattern":0.0015,)"
    R"("replacement":0.001,"opening":0.0001,"closing":0.0,"moved":4096,"spread":0.02,"weights":"warm",)"
    R"("engine":"onnxruntime","version":"1.30.0","isa":"avx512","machine":"","threads":1,"date":"2026-11-21"})"
    "\n";

/// The same line of later texts: it names a setting, and its rule as well.
const std::string kSetting =
    R"({"setting":"s","device":"ort-cpu","engine":"onnxruntime","version":"1.30.0","isa":"avx512","machine":"",)"
    R"("threads":1,"weights":"warm","date":"2026-11-21"})"
    "\n";
const std::string kFigures =
    R"("setting":"s","shapes":{"C":8,"N":1},"pattern":0.0015,"replacement":0.001,"opening":0.0001,"moved":4096,)"
    R"("spread":0.02})"
    "\n";
const std::string kNamedSample = kSetting + R"({"name":"a","rule":"a-hash",)" + kFigures;
const std::string kTwiceNamedSample =
    kSetting + R"({"hash":"a-hash","name":"a","rule":"r"})" + "\n" + R"({"rule":"r",)" + kFigures;

/// The name that a setting has in its line.
std::string nameIn(const std::string& line) {
  return line.substr(std::strlen(R"({"setting":")"), 12);
}

/// The name that a rule has at its line's end.
std::string ruleIn(const std::string& line) {
  return line.substr(line.size() - std::strlen(R"("})") - 12, 12);
}

TEST(Timings, TextSaysEachSettingAndRuleOnceThenOneSortedSampleALine) {
  const std::string text = print(someTimings());
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
  ASSERT_EQ(lines.size(), 7U);  // two settings, two rules, three samples
  const std::string cold = nameIn(lines[0]), warm = nameIn(lines[1]), a = ruleIn(lines[2]), b = ruleIn(lines[3]);
  const std::string setting = R"({"setting":")" + warm +
                              R"(","device":"ort-cpu","engine":"onnxruntime","version":"1.30.0","isa":"avx512",)"
                              R"("machine":"","threads":1,"weights":"warm","date":"2026-11-21"})";
  EXPECT_EQ(lines[1], setting);
  EXPECT_EQ(lines[2], R"({"hash":"a-hash","name":"a","symbols":["C","N"],"rule":")" + a + R"("})");
  EXPECT_EQ(lines[3], R"({"hash":"b-hash","name":"b","symbols":["C","N"],"rule":")" + b + R"("})");
  EXPECT_NE(a, b);
  EXPECT_EQ(lines[4], R"([")" + a + R"(",")" + warm + R"(",[8,1],0.0015,0.001,0.02,0.0001,0.0,4096])");
  EXPECT_EQ(lines[5], R"([")" + a + R"(",")" + cold + R"(",[64,1],0.002,0.001,0.02])");
  EXPECT_THAT(lines[6], HasSubstr(R"([")" + b + R"(",)"));
  auto read = parseTimings(text, "t.jsonl");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, someTimings());
  EXPECT_EQ(print(*read), text);
}

TEST(Timings, LinesOfTwoTextsAreOneText) {
  Timings one = someTimings(), other;
  TimingSample threads = sample("a", 64, 4);
  threads.threads = 2;
  other.add(threads);
  other.add(sample("c", 64, 2));  // of a setting of the first
  auto joined = parseTimings(print(one) + print(other), "t.jsonl");
  ASSERT_TRUE(joined.has_value()) << joined.error().message();
  one.merge(other);
  EXPECT_EQ(*joined, one);
}

TEST(Timings, WhatANameStandsForIsSaidBeforeItsSamplesAndOnce) {
  Timings one;
  one.add(sample("a", 64, 2));
  const std::string text = print(one), rules = text.substr(text.find(R"({"hash")"));
  const std::string setting = text.substr(0, text.find('\n') + 1), rule = rules.substr(0, rules.find('\n') + 1);
  const std::string line = rules.substr(rule.size());
  auto with = [](std::string where, const std::string& from, const std::string& to) {
    return where.replace(where.find(from), from.size(), to);
  };
  for (const auto& [bad, where, why] :
       {std::tuple(rule + line, "t:2", "no line before it says what its setting is"),
        std::tuple(setting + line, "t:2", "no line before it says which rule it is of"),
        std::tuple(line + rule + setting, "t:1", "no line before it says"),
        std::tuple(setting + with(setting, "ort-cpu", "mnn-cpu"), "t:2", "says something else of this name"),
        std::tuple(rule + with(rule, "a-hash", "b-hash"), "t:2", "says something else of this name"),
        std::tuple(rule + with(rule, R"("name":"a")", R"("name":"b")"), "t:2", "says something else of this name"),
        std::tuple(with(setting, "cold", "hot"), "t:1", "weights must be cold or warm"),
        std::tuple(with(rule, "a-hash", ""), "t:1", "rule must be given"),
        std::tuple(with(rule, R"("name":"a")", R"("name":"a\u001b[2J")"), "t:1", "plain text"),
        std::tuple(with(rule, R"(["C","N"])", R"(["C","C"])"), "t:1", "a symbol of it comes twice"),
        std::tuple(setting + rule + with(line, "[64,1]", "[64]"), "t:3", "not one extent for each symbol"),
        std::tuple(setting + rule + with(line, "[64,1]", "[64,1,1]"), "t:3", "not one extent for each symbol"),
        std::tuple(setting + rule + with(line, "[64,1]", "64"), "t:3", "not one extent for each symbol"),
        std::tuple(setting + rule + with(line, "[64,1]", "[64,1.5]"), "t:3", ""),
        std::tuple(setting + rule + with(line, "]\n", ",0.1]\n"), "t:3", "a sample has 6 values, or 9"),
        std::tuple(with(kNamedSample, R"("shapes")", R"("threads":1,"shapes")"), "t:2",
                   "it has a setting, and threads besides"),
        std::tuple(with(kTwiceNamedSample, R"("shapes")", R"("name":"a","shapes")"), "t:3",
                   "and it has a name besides"),
        std::tuple(std::string(R"({"setting":"a"})"), "t:1", "device"),
        std::tuple(std::string(R"({"hash":"a","name":"a"})"), "t:1", "rule"),
        std::tuple(std::string(R"({"hash":"a","name":"a","rule":1})"), "t:1", ""),
        std::tuple(std::string(R"({"setting":1,)") + setting.substr(30), "t:1", "")}) {
    const auto read = parseTimings(bad, "t");
    const auto opened =
        OpenTimings::openBytes(bad, "t").and_then([](const OpenTimings& t) { return t.samples("a-hash", "ort-cpu"); });
    ASSERT_TRUE(!read && !opened) << bad;
    for (const Error& error : {read.error(), opened.error()}) {
      EXPECT_EQ(error.where, where) << bad;
      EXPECT_THAT(error.message(), HasSubstr(why)) << bad;
    }
  }
  EXPECT_EQ(parseTimings(setting + rule + setting + rule + line, "t").value(), one);
}

TEST(Timings, ARuleOfAnotherNameIsNamedAnew) {
  Timings t;
  TimingSample renamed = sample("b", 128, 2);
  renamed.rule = "a-hash";
  t.add(sample("a", 64, 2));
  t.add(renamed);
  EXPECT_EQ(parseTimings(print(t), "t").value(), t);
}

TEST(Timings, TextOfAnOlderPetHasNoLayoutsColdWeightsAndNoMachine) {
  std::string line = kWholeSample;
  const TimingSample same = someTimings().all().at(0);
  for (const std::string& text : {kWholeSample, kNamedSample, kTwiceNamedSample}) {
    EXPECT_EQ(parseTimings(text, "t.jsonl").value().all().at(0), same);
    EXPECT_EQ(OpenTimings::openBytes(text, "t.jsonl")->samples("a-hash", "ort-cpu").value().at(0), same);
  }
  const std::string both = print(someTimings()) + kNamedSample + kTwiceNamedSample;
  EXPECT_EQ(parseTimings(both, "t.jsonl").value(), someTimings());
  for (const char* field :
       {R"("opening":0.0001,)", R"("closing":0.0,)", R"("moved":4096,)", R"("weights":"warm",)", R"("machine":"",)"})
    line.erase(line.find(field), std::strlen(field));
  auto read = parseTimings(line, "t.jsonl");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->all().at(0), sample("a", 8, 1.5));
}

TEST(Timings, ASampleInAnotherPlaceIsAnotherOne) {
  Timings t = someTimings();
  const size_t before = t.samples("a-hash", "ort-cpu").size();
  for (const char* place : {"first", "last", "alone"}) {
    TimingSample there = sample("a", 64, 4);
    there.place = place;
    t.add(there);
  }
  EXPECT_EQ(t.samples("a-hash", "ort-cpu").size(), before + 3);
  const std::string text = print(t);
  EXPECT_THAT(text, ::testing::HasSubstr(R"("date":"2026-11-21","place":"last"})"));
  auto read = parseTimings(text, "t.jsonl");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, t);
}

TEST(Timings, ASampleOfAnotherOpsetIsAnotherOne) {
  Timings t = someTimings();
  TimingSample later = sample("a", 64, 4);
  later.opset = 19;
  t.add(later);
  EXPECT_EQ(t.samples("a-hash", "ort-cpu").size(), 3U);
  const std::string text = print(t);
  EXPECT_THAT(text, ::testing::HasSubstr(R"("date":"2026-11-21","opset":19})"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr(R"("opset":17)")));
  auto read = parseTimings(text, "t.jsonl");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, t);
}

TEST(Timings, TheNearestOpsetIsNotLaterThanTheModelsIfThereIsOne) {
  for (auto [model, nearest] : {std::pair{13, 17}, {17, 17}, {18, 17}, {19, 19}, {20, 19}, {23, 22}})
    EXPECT_EQ(nearestOpset({17, 19, 22}, model), nearest) << model;
}

TEST(Timings, BadTextPointsAtItsLine) {
  const std::string& good = kWholeSample;
  auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  for (const std::string& bad : {std::string("{"),
                                 std::string("[]"),
                                 std::string("3"),
                                 std::string("{}"),
                                 with("0.0015", "-1"),
                                 with("0.0015", "\"fast\""),
                                 with("0.02", "null"),
                                 with("\"C\":8", "\"C\":8.5"),
                                 with("\"C\":8", "\"C\":\"8\""),
                                 with("{\"C\":8,\"N\":1}", "[1]"),
                                 with("\"threads\":1", "\"threads\":0"),
                                 with("a-hash", ""),
                                 with("\"C\":8", "\"C\":true"),
                                 with("\"C\":8", "\"C\":18446744073709551615"),
                                 with("\"threads\":1", "\"threads\":4294967297"),
                                 with("0.0001", "-0.0001"),
                                 with("0.0001", "\"0\""),
                                 with("\"closing\":0.0", "\"closing\":null"),
                                 with("\"moved\":4096", "\"moved\":-1"),
                                 with("\"moved\":4096", "\"moved\":0.5"),
                                 with("warm", "hot"),
                                 with("\"warm\"", "1"),
                                 with("\"threads\":1", "\"threads\":1,\"place\":\"lost\""),
                                 with("\"threads\":1", "\"threads\":1,\"opset\":0"),
                                 with("\"threads\":1", "\"threads\":1,\"opset\":17.5"),
                                 with("0.0015", "1e308"),
                                 with("0.0015", "1e-300"),
                                 with("0.0015", "NaN"),
                                 with("0.02", "1e308"),
                                 with("\"C\":8", "\"C\":9223372036854775807"),
                                 with("\"C\":8", "\"C\":-8"),
                                 with("\"C\":8", "\"C\":8,\"C\":16"),
                                 with("\"threads\":1", "\"threads\":1,\"threads\":2"),
                                 with("\"name\":\"a\"", "\"name\":\"a\\u001b[2J\""),
                                 with("\"name\":\"a\"", "\"name\":\"\xff\""),
                                 std::string("\xff\xfe")}) {
    auto read = parseTimings(fmt::format("{}\n{}\n", good, bad), "t.jsonl");
    ASSERT_FALSE(read.has_value()) << bad;
    EXPECT_EQ(read.error().kind, ErrorKind::kPack);
    EXPECT_EQ(read.error().where, "t.jsonl:3");
  }
}

TEST(Timings, BadTextIsRefusedWhereItIsOtherwiseAsItIsWritten) {
  const std::string text = print(someTimings());
  ASSERT_THAT(text, HasSubstr(R"(,[8,1],0.0015,0.001,0.02,0.0001,0.0,4096])"));
  for (const auto& [from, to] : {std::pair("0.0015", "-1"),
                                 {"0.0015", "nan"},
                                 {"0.0015", ""},
                                 {"0.0015", "1e-300"},
                                 {"0.0001", "-0.0001"},
                                 {"4096", "0.5"},
                                 {"4096", "-1"},
                                 {"[8,", "[8.5,"},
                                 {"[8,", "[8,16,"},
                                 {"[8,", "["},
                                 {"[8,", "[18446744073709551615,"},
                                 {"[8,", "[8,,"},
                                 {"[8,1]", "{\"C\":8,\"N\":1}"},
                                 {"4096]", "4096"},
                                 {"4096]", "4096]]"},
                                 {",4096", ""}}) {
    std::string bad = text;
    bad.replace(bad.find(from), std::strlen(from), to);
    auto read = parseTimings(bad, "t");
    ASSERT_FALSE(read.has_value()) << bad;
    EXPECT_EQ(read.error().where, "t:5") << bad;
  }
}

TEST(Timings, ThoseThatShipAreAsTheyAreWritten) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(std::string(PET_SOURCE_DIR) + "/packs")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".timings.jsonl")) continue;
    ++files;
    auto timings = readTimings(path);
    ASSERT_TRUE(timings.has_value()) << timings.error().message();
    EXPECT_TRUE(print(*timings) == *readFile(path, ErrorKind::kPack)) << path;
  }
  EXPECT_GE(files, 4U);
}

// --- Timings that are opened and not read ---

std::string hashed(char digit) {
  return std::string(64, digit);
}

/// Samples of two rules, in both forms' order.
Timings hashedTimings() {
  Timings t;
  for (char digit : {'a', 'b'}) {
    for (int64_t channels : {8, 16}) {
      TimingSample s = sample(std::string(1, digit), channels, 2);
      s.rule = hashed(digit);
      s.closing = 0.001;
      s.moved = channels * 1024;
      t.add(s);
    }
  }
  return t;
}

TEST(OpenTimings, AnswerAsTimingsDo) {
  const Timings whole = hashedTimings();
  const std::string text = print(whole);
  std::string spaced = text;  // not as print() writes it
  for (size_t at = spaced.find(","); at != std::string::npos; at = spaced.find(",", at + 2))
    spaced.insert(at + 1, " ");
  for (const std::string& form : {text, spaced, text + spaced}) {
    auto open = OpenTimings::openBytes(form, "t.jsonl");
    ASSERT_TRUE(open.has_value()) << open.error().message();
    for (const char* device : {"ort-cpu", "onednn"}) {
      for (char digit : {'a', 'b', 'c'})
        EXPECT_EQ(open->samples(hashed(digit), device).value(), whole.samples(hashed(digit), device));
      const auto layouts = open->layouts(device).value();
      EXPECT_EQ(layouts.size(), whole.layouts(device).size() * (form.size() > 2 * text.size() ? 2 : 1));
      for (const LayoutSample& s : layouts) {
        EXPECT_EQ(s.seconds, 0.001);
        EXPECT_EQ(s.bytes % 1024, 0);
        EXPECT_EQ(s.weights, "cold");
      }
    }
  }
}

TEST(OpenTimings, OfTwoFilesTheSecondCountsWhereBothHaveASample) {
  const Timings first = hashedTimings();
  Timings second;
  TimingSample other = first.samples(hashed('a'), "ort-cpu").front();
  other.pattern *= 3;
  second.add(other);
  TimingSample added = other;
  added.shapes.begin()->second += 1000;
  second.add(added);
  Timings both = first;
  both.merge(second);
  const fs::path folder = fs::temp_directory_path() / fmt::format("pet-two-timings-{}", ::getpid());
  fs::create_directories(folder);
  for (const char* extension : {".jsonl", ".timings"}) {
    for (const char* more : {".jsonl", ".timings"}) {
      const std::string a = (folder / "a").string() + extension, b = (folder / "b").string() + more;
      ASSERT_TRUE(writeTimings(first, a).has_value());
      ASSERT_TRUE(writeTimings(second, b).has_value());
      auto open = OpenTimings::openAll({a, b});
      ASSERT_TRUE(open.has_value()) << open.error().message();
      for (char digit : {'a', 'b', 'c'})
        EXPECT_EQ(open->samples(hashed(digit), "ort-cpu").value(), both.samples(hashed(digit), "ort-cpu"));
    }
  }
  const std::string there = folder / "a.jsonl", missing = folder / "none";
  EXPECT_EQ(OpenTimings::openAll({there, missing}).error().kind, ErrorKind::kPack);
  EXPECT_EQ(OpenTimings::openAll({missing, there}).error().kind, ErrorKind::kPack);
  const std::string third = folder / "b.jsonl";
  EXPECT_EQ(OpenTimings::openAll({third, there, third})->samples(hashed('b'), "ort-cpu").value(),
            both.samples(hashed('b'), "ort-cpu"));
  EXPECT_TRUE(OpenTimings::openAll({})->devices()->empty());
  fs::remove_all(folder);
}

TEST(OpenTimings, ABadLineIsRefusedWhenItsRuleIsAskedFor) {
  std::string text = print(hashedTimings());
  text.replace(text.rfind("0.002"), 5, "-1.00");
  auto open = OpenTimings::openBytes(text, "t.jsonl");
  ASSERT_TRUE(open.has_value());
  EXPECT_TRUE(open->samples(hashed('a'), "ort-cpu").has_value());
  EXPECT_EQ(open->samples(hashed('b'), "ort-cpu").error().where, "t.jsonl:7");
  for (const char* bad :
       {"{}", "{\"rule\":\"", "hello", "{\"setting\":\"a\"}", "{\"hash\":\"a\"}", "{\"rule\":\"b\",\"setting\":\"c\"}"})
    EXPECT_EQ(OpenTimings::openBytes(text + bad, "t.jsonl").error().where, "t.jsonl:8");
}

TEST(Timings, BothFormsAreReadByContent) {
  fs::path folder = fs::temp_directory_path() / ("pet-timings-test-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const char* name : {"ort-cpu.timings", "ort-cpu.timings.jsonl"}) {
    std::string path = (folder / name).string();
    ASSERT_TRUE(writeTimings(someTimings(), path).has_value());
    auto read = readTimings(path);
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(*read, someTimings());
    std::string bytes = *readFile(path, ErrorKind::kPack);
    ASSERT_TRUE(writeTimings(*read, path).has_value());
    EXPECT_EQ(*readFile(path, ErrorKind::kPack), bytes);
  }
  std::string path = (folder / "ort-cpu.timings").string(), bytes = *readFile(path, ErrorKind::kPack);
  ASSERT_TRUE(writeFile(path, bytes.substr(0, 5000)).has_value());
  EXPECT_THAT(readTimings(path).error().message(), HasSubstr("truncated: 5000 of 12288 bytes"));
  std::string strange = bytes;
  for (size_t at = strange.find("ort-cpu"); at != std::string::npos; at = strange.find("ort-cpu"))
    strange[at] = '\xff';
  EXPECT_THAT(readTimingsBytes(strange, path).error().message(), HasSubstr("its text is not plain text in UTF-8"));
  bytes.replace(68, 4, "petr");
  ASSERT_TRUE(writeFile(path, bytes).has_value());
  EXPECT_THAT(readTimings(path).error().message(), HasSubstr("not a timings file"));
  EXPECT_THAT(readTimings(path + "x").error().message(), HasSubstr("No such file"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pet::timings_test
