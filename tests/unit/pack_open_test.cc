// Packs that are opened and not read.

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

namespace pet::pack_open_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// Rules of a convolution, of a square and of a product of two outputs.
RuleSet someRules() {
  RuleSet set;
  for (const char* file : {"conv.pet", "pair.pet", "square.pet", "branches.pet", "relu.pet"}) {
    const std::string path = std::string(PET_SOURCE_DIR) + "/tests/data/" + file;
    RuleSet more = parseRules(testing_support::textOf(path), path).value();
    for (Rule& r : more.rules)
      set.rules.push_back(std::move(r));
    for (Pattern& p : more.patterns) {
      bool known =
          std::any_of(set.patterns.begin(), set.patterns.end(), [&](const auto& q) { return q.name == p.name; });
      if (!known) set.patterns.push_back(std::move(p));
    }
  }
  auto byName = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(set.patterns.begin(), set.patterns.end(), byName);
  std::sort(set.rules.begin(), set.rules.end(), byName);
  return set;
}

OperatorNames anchorsOf(const RuleSet& set) {
  OperatorNames names;
  for (const Pattern& p : set.patterns)
    names.insert(anchorOf(p));
  return names;
}

/// What a source gives, as text without proofs.
Expected<std::string> statementsOf(RuleSource& source, const OperatorNames& anchors) {
  auto patterns = source.patternsOf(anchors);
  if (!patterns) return tl::unexpected(patterns.error());
  std::string text;
  for (const Pattern* p : *patterns) {
    text += print(*p);
    auto rules = source.rulesOf(*p);
    if (!rules) return tl::unexpected(rules.error());
    for (const Rule* r : *rules)
      text += printStatement(*r);
  }
  return text;
}

TEST(OpenPack, GivesWhatTheWholePackHas) {
  const RuleSet set = someRules();
  const std::string bytes = packBytes(set).value();
  Pack pack = Pack::openBytes(bytes, "rules.db").value();
  WholeSet whole(set);
  for (const OperatorNames& anchors : {anchorsOf(set), OperatorNames{"Conv"}, OperatorNames{"Erf"}, OperatorNames()})
    EXPECT_EQ(statementsOf(pack, anchors).value(), statementsOf(whole, anchors).value());
  std::set<std::string> names;
  for (const Rule& r : set.rules) {
    names.insert(r.name);
    const Pattern& pattern = *set.findPattern(r.pattern);
    const std::vector<const Rule*> rules = pack.rulesOf(pattern).value();
    auto same = std::find_if(rules.begin(), rules.end(), [&](const Rule* other) { return other->name == r.name; });
    ASSERT_NE(same, rules.end());
    EXPECT_EQ(pack.hashOf(**same), ruleHash(pattern, r));
  }
  EXPECT_EQ(print(pack.proved(names).value()), print(set));
  const RuleSet one = pack.proved({"conv/pair"}).value();
  EXPECT_EQ(one.patterns.size(), 1U);
  EXPECT_EQ(print(one.rules.at(0)), print(*set.findRule("conv/pair")));
  EXPECT_TRUE(pack.proved({}).value().rules.empty());
}

TEST(OpenPack, KnowsWhatRulesAreOf) {
  const RuleSet set = someRules();
  const std::string bytes = packBytes(set).value();
  Pack pack = Pack::openBytes(bytes, "rules.db").value();
  WholeSet whole(set);
  auto isWanted = [](std::string_view rule) { return rule.starts_with("conv/") || rule == "square/transposed"; };
  const PatternsOfRules known = pack.patternsOfRules(isWanted).value(), same = whole.patternsOfRules(isWanted).value();
  ASSERT_EQ(known.size(), same.size());
  EXPECT_GE(known.size(), 3U);
  for (const auto& [rule, pattern] : known) {
    EXPECT_EQ(print(*pattern), print(*same.at(rule)));
    EXPECT_EQ(pattern->name, set.findRule(rule)->pattern);
  }
}

/// The bytes with the first place of a text changed, at which nothing else is.
std::string changed(std::string bytes, const std::string& from, const std::string& to) {
  bytes.replace(bytes.find(from), from.size(), to);
  return bytes;
}

TEST(OpenPack, ReadsNothingThatWasNotAskedFor) {
  const RuleSet set = someRules();
  const std::string bytes = changed(packBytes(set).value(), "rule square/transposed", "rule Square/transposed");
  Pack pack = Pack::openBytes(bytes, "rules.db").value();
  const Pattern &conv = *set.findPattern("conv"), &square = *set.findPattern("square");
  ASSERT_TRUE(pack.patternsOf({anchorOf(conv), anchorOf(square)}).has_value());
  EXPECT_TRUE(pack.rulesOf(conv).has_value());
  auto damaged = pack.rulesOf(square);
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().kind, ErrorKind::kPack);
  EXPECT_EQ(damaged.error().where, "rules.db");
  EXPECT_THAT(damaged.error().what, HasSubstr("the rules of square do not have the stored digest"));
  EXPECT_EQ(readPackBytes(bytes, "rules.db").error().what, damaged.error().what);
}

TEST(OpenPack, NoChangedByteGoesUnnoticed) {
  const RuleSet set = someRules();
  const OperatorNames anchors = anchorsOf(set);
  const std::string bytes = packBytes(set).value();
  WholeSet whole(set);
  const std::string wanted = statementsOf(whole, anchors).value();
  size_t refused = 0, tried = 0;
  for (size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 37) {
    for (char bit : {1, 32, -128}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ bit);
      auto read = Pack::openBytes(other, "some.db").and_then([&](Pack&& pack) { return statementsOf(pack, anchors); });
      ++tried;
      refused += !read.has_value();
      if (read.has_value()) {
        EXPECT_EQ(*read, wanted) << "byte " << at;
      } else {
        EXPECT_EQ(read.error().kind, ErrorKind::kPack);
        EXPECT_EQ(read.error().where, "some.db");
      }
    }
  }
  EXPECT_GT(refused, tried / 10);  // the rest is free space
}

TEST(OpenPack, FilesOfAnyName) {
  const fs::path folder = fs::temp_directory_path() / ("pet-open-pack-test-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const RuleSet set = someRules();
  WholeSet whole(set);
  for (const char* name : {"rules.db", "a b", "50%20?mode=rw#x", "\u00fc&immutable=0"}) {
    const std::string path = (folder / name).string();
    ASSERT_TRUE(writePack(set, path).has_value());
    auto pack = Pack::open(path);
    ASSERT_TRUE(pack.has_value()) << pack.error().message();
    EXPECT_EQ(statementsOf(*pack, {"Conv"}).value(), statementsOf(whole, {"Conv"}).value());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "a file beside it";
    fs::remove(path);
  }
  const std::string path = (folder / "rules.db").string(), bytes = packBytes(set).value();
  for (size_t size : {size_t{0}, size_t{10}, size_t{99}, size_t{5000}, bytes.size() - 1}) {
    ASSERT_TRUE(writeFile(path, bytes.substr(0, size)).has_value());
    EXPECT_EQ(Pack::open(path).error().message(), Pack::openBytes(bytes.substr(0, size), path).error().message());
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pet::pack_open_test
