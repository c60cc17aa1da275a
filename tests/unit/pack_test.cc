#include "rules/pack/pack.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "rules/pack/file.h"
#include "rules/text.h"

namespace pet::pack_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

RuleSet dataRules(const std::string& file) {
  std::string path = std::string(PET_SOURCE_DIR) + "/tests/data/" + file;
  auto text = readFile(path, ErrorKind::kText);
  EXPECT_TRUE(text.has_value());
  auto rules = parseRules(*text, path);
  EXPECT_TRUE(rules.has_value()) << rules.error().message();
  return *rules;
}

/// Two patterns, three rules.
RuleSet someRules() {
  RuleSet set = dataRules("conv.pet"), square = dataRules("square.pet");
  set.rules.push_back(dataRules("pair.pet").rules[0]);
  set.patterns.push_back(square.patterns[0]);
  set.rules.push_back(square.rules[0]);
  return set;
}

const PackNotes kNotes{{{"depth", "4"}, {"tool", "pet"}}, {{"conv/pair", {{"boxes/tight", "1"}, {"shapes", "81"}}}}};

std::string text(const RuleSet& set) {
  std::string out;
  for (const Pattern& p : set.patterns)
    out += print(p);
  for (const Rule& r : set.rules)
    out += print(r);
  return out;
}

std::string someBytes() {
  return *packBytes(someRules(), kNotes);
}

/// A folder that is gone at the end of the test.
class PackFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pet-pack-test-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path folder_;
};

TEST(Pack, KeepsLemmasAndZeros) {
  for (const char* file : {"pool.pet", "relu.pet"}) {
    RuleSet set = dataRules(file);
    auto read = readPackBytes(*packBytes(set, {}), "rules.db");
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(text(*read), text(set));
    EXPECT_EQ(read->rules[0].proofs, set.rules[0].proofs);
    EXPECT_FALSE(read->rules[0].proofs[0].lemmas.empty());
  }
}

TEST(Pack, KeepsEveryRuleAndPattern) {
  auto read = readPackBytes(someBytes(), "rules.db");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  RuleSet sorted = someRules();
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(sorted.rules.begin(), sorted.rules.end(), byName);
  std::sort(sorted.patterns.begin(), sorted.patterns.end(), byName);
  EXPECT_EQ(text(*read), text(sorted));
  EXPECT_NE(read->findRule("conv/pair"), nullptr);
}

TEST(Pack, KeepsWhereRulesComeFrom) {
  const std::string name = "square/pair", header = "rule " + name + " of ";
  RuleSet set = someRules();
  set.rules[0].name = name;
  set.sources = {{name, "template"}, {"of another pack", "moves"}};
  auto read = readPackBytes(*packBytes(set), "rules.db");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->sources, (decltype(set.sources){{name, "template"}}));

  std::string printed = print(*read);
  const size_t line = printed.find("  source template\n");
  ASSERT_NE(line, std::string::npos) << printed;
  EXPECT_EQ(printed.rfind(header, line), printed.rfind("rule ", line));
  EXPECT_EQ(printed.find("  source ", line + 1), std::string::npos);
  auto again = parseRules(printed, "rules.pet");
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(again->sources, read->sources);
  EXPECT_EQ(*packBytes(*again), *packBytes(set));
  // No part of the rule: hashes and statements are as they were.
  EXPECT_EQ(text(*again), text(*read));
  EXPECT_NE(*packBytes(set, {{}, {{name, {{kSource, "moves"}}}}}), *packBytes(set));
  EXPECT_FALSE(parseRules(printed.insert(line, "  source moves\n"), "rules.pet"));
}

TEST(Pack, IsEmptyWithoutRules) {
  auto read = readPackBytes(*packBytes({}), "rules.db");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_TRUE(read->rules.empty());
}

TEST(Pack, HasTheSameBytesForTheSameRulesInAnyOrder) {
  RuleSet reversed = someRules();
  std::reverse(reversed.rules.begin(), reversed.rules.end());
  std::reverse(reversed.patterns.begin(), reversed.patterns.end());
  EXPECT_EQ(*packBytes(reversed, kNotes), someBytes());
  EXPECT_EQ(*packBytes(*readPackBytes(someBytes(), ""), kNotes), someBytes());
  EXPECT_NE(*packBytes(reversed), someBytes());
}

TEST(Pack, HashCoversPatternAndRuleButNotTheProof) {
  RuleSet set = dataRules("conv.pet");
  const Pattern& pattern = set.patterns[0];
  const Rule& rule = set.rules[0];
  std::string hash = ruleHash(pattern, rule);
  EXPECT_EQ(hash.size(), 64U);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);

  Rule unproved = rule;
  unproved.proofs = {};
  EXPECT_EQ(ruleHash(pattern, unproved), hash);
  Rule renamed = rule;
  renamed.name = "another";
  EXPECT_NE(ruleHash(pattern, renamed), hash);
  Pattern narrower = pattern;
  narrower.shapes.require(Constraint::le(3, Expr::variable("R")));
  EXPECT_NE(ruleHash(narrower, rule), hash);
}

TEST(Pack, RefusesWhatDoesNotBelongTogether) {
  RuleSet twice = someRules();
  twice.rules.push_back(twice.rules[0]);
  EXPECT_THAT(packBytes(twice).error().what, HasSubstr("two rules are named conv/transposed"));
  RuleSet patterns = someRules();
  patterns.patterns.push_back(patterns.patterns[0]);
  EXPECT_THAT(packBytes(patterns).error().what, HasSubstr("two patterns are named conv"));
  RuleSet orphan = someRules();
  orphan.patterns.erase(orphan.patterns.begin());
  EXPECT_THAT(packBytes(orphan).error().what, HasSubstr("has no pattern conv"));
  EXPECT_THAT(packBytes(someRules(), {{}, {{"conv/none", {{"a", "b"}}}}}).error().what,
              HasSubstr("unknown rule conv/none"));
  for (const char* own : {"content", "evidence"})
    EXPECT_THAT(packBytes(someRules(), {{{own, "x"}}, {}}).error().what, HasSubstr(fmt::format("'{}'", own)));
}

// --- Bad input: always one error of kind kPack that names the file ---

void expectRefused(const std::string& bytes, const std::string& what) {
  auto read = readPackBytes(bytes, "some.db");
  ASSERT_FALSE(read.has_value()) << what;
  EXPECT_EQ(read.error().kind, ErrorKind::kPack);
  EXPECT_EQ(read.error().where, "some.db");
  EXPECT_THAT(read.error().what, HasSubstr(what));
}

TEST(Pack, RefusesEveryTruncation) {
  std::string bytes = someBytes();
  expectRefused("", "the file is empty");
  expectRefused(bytes.substr(0, 10), "truncated: 10 of 100 bytes");
  expectRefused(bytes.substr(0, 99), "truncated: 99 of 100 bytes");
  for (size_t size = 512; size < bytes.size(); size += 512)
    expectRefused(bytes.substr(0, size), "truncated");
  expectRefused(bytes.substr(0, bytes.size() - 1), "truncated");
}

TEST(Pack, RefusesOtherFiles) {
  expectRefused("pattern conv {", "not a pack");
  expectRefused(std::string(5000, '\0'), "not a pack");
  std::string foreign = someBytes();
  foreign.replace(68, 4, "ABCD");
  expectRefused(foreign, "an SQLite file of another application");
  std::string newer = someBytes();
  newer[63] = 4;
  expectRefused(newer, "written in format 4, this program reads up to 3");
  newer[63] = 2;
  expectRefused(newer, "written in format 2, which is not read any more");
  std::string schema = someBytes();
  schema.replace(schema.find("statement TEXT"), 9, "statemenT");
  expectRefused(schema, "its tables are not those of a pack");
}

TEST(Pack, KeepsProofsOfSeveralOutputs) {
  RuleSet two = dataRules("branches.pet");
  auto read = readPackBytes(*packBytes(two), "");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(text(*read), text(two));
  ASSERT_EQ(read->rules[0].proofs.size(), 2U);
  EXPECT_EQ(read->rules[0].proofs, two.rules[0].proofs);
}

TEST(Pack, NoChangedByteGoesUnnoticed) {
  std::string bytes = someBytes(), wanted = text(*readPackBytes(bytes, ""));
  size_t refused = 0, tried = 0;
  for (size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 23) {
    for (char bit : {1, 32, -128}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ bit);
      auto read = readPackBytes(changed, "some.db");
      ++tried;
      refused += !read.has_value();
      if (read.has_value()) {
        EXPECT_EQ(text(*read), wanted) << "byte " << at;
      } else {
        EXPECT_EQ(read.error().kind, ErrorKind::kPack);
      }
    }
  }
  EXPECT_GT(refused, tried / 10);  // the rest is free space
}

TEST_F(PackFile, IsWrittenAndRead) {
  ASSERT_TRUE(writePack(someRules(), path("rules.db"), kNotes).has_value());
  EXPECT_EQ(files(), std::vector<std::string>{"rules.db"});
  EXPECT_EQ(*readFile(path("rules.db"), ErrorKind::kPack), someBytes());
  EXPECT_EQ(text(*readPack(path("rules.db"))), text(*readPackBytes(someBytes(), "")));
  EXPECT_EQ(*readPackNotes(path("rules.db")), kNotes);
  EXPECT_EQ(files(), std::vector<std::string>{"rules.db"});  // reading makes no journal
}

TEST_F(PackFile, MissingFolderOrTextFile) {
  EXPECT_EQ(readPack(path("none.db")).error().message(), path("none.db") + ": cannot read: No such file or directory");
  EXPECT_EQ(readPack(folder_.string()).error().message(), folder_.string() + ": cannot read: Is a directory");
  ASSERT_TRUE(writeFile(path("rules.pet"), "pattern conv {\n").has_value());
  EXPECT_THAT(readPack(path("rules.pet")).error().message(), HasSubstr("pet-rules import"));
}

TEST_F(PackFile, FailedWriteLeavesNothing) {
  EXPECT_THAT(writePack(someRules(), path("none/rules.db")).error().message(), HasSubstr("No such file or directory"));
  EXPECT_THAT(writeFile(folder_.string(), "x").error().message(), HasSubstr("Is a directory"));
  EXPECT_THAT(writeFile("/dev/full", "x").error().message(), HasSubstr("No space left"));
  EXPECT_TRUE(files().empty());
}

TEST_F(PackFile, WritingKeepsModeAndFollowsLinks) {
  ASSERT_TRUE(writeFile(path("a"), "1").has_value());
  ::chmod(path("a").c_str(), 0640);
  fs::create_symlink("a", path("link"));
  ASSERT_TRUE(writeFile(path("link"), "2").has_value());
  EXPECT_EQ(*readFile(path("a"), ErrorKind::kPack), "2");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

}  // namespace
}  // namespace pet::pack_test
