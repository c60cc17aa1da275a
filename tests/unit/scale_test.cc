#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"
#include "synth/scale/checkpoint.h"
#include "synth/scale/shards.h"
#include "synth/synthesize.h"
#include "tests/unit/synth_support.h"

namespace pet::scale_test {
namespace {

using testing_support::pattern;

const std::string kMatMul = "pattern p { shape B M K N : 1 <= B\n x: [B, M, K]\n w: const [K, N]\n y = MatMul(x, w) }";
const std::string kOther = "pattern q { shape M K N\n x: [M, K]\n w: const [K, N]\n y = MatMul(x, w) }";

std::string packOf(const Search& search, const SearchId& id, const std::vector<UnitOutcome>& outcomes) {
  auto reduced = reduce(search.patterns(), outcomes);
  return *packBytes(reduced->rules, searchNotes(id, 0, reduced->sources));
}

/// A search that is quick, and all that comes of it.
struct Whole {
  Whole() : search(*Search::create({pattern(kOther), pattern(kMatMul)}, {.check = false})), id(identify(search)) {
    for (size_t u = 0; u < search.size(); ++u)
      outcomes.push_back(search.run(u));
  }
  Search search;
  SearchId id;
  std::vector<UnitOutcome> outcomes;

  std::string pack() const { return packOf(search, id, outcomes); }
  /// The outcomes of a shard as a part.
  Outcomes part(size_t index, size_t count) const {
    Shard shard{index, count};
    std::vector<UnitOutcome> mine;
    for (size_t u : unitsOf(shard, search.size()))
      mine.push_back(outcomes[u]);
    return *readOutcomes(partBytes(id, shard, mine), "part");
  }
};

const Whole& whole() {
  static const Whole w;
  return w;
}

std::vector<std::string> texts(const std::vector<UnitOutcome>& outcomes) {
  std::vector<std::string> all;
  all.reserve(outcomes.size());
  for (const UnitOutcome& o : outcomes)
    all.push_back(print(o));
  return all;
}

/// A path that goes when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / fmt::format("pet-{}-{}", ::getpid(), name)) {
    std::filesystem::remove(path_);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }
  std::string bytes() const { return *readFile(path(), ErrorKind::kPack); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  std::filesystem::path path_;
};

// --- Names ---

TEST(ScaleNames, OfSeveralRulesAreNumbered) {
  const auto search =
      Search::create({pattern("pattern p { shape N C A R B V : 1 <= A, 1 <= B\n x: [N, C, A + R, B + V]\n"
                              " rows = Slice(x) axes=[2] starts=[A] ends=[A + R] steps=[1]\n"
                              " u = Slice(rows) axes=[3] starts=[B] ends=[B + V] steps=[1]\n"
                              " s = Transpose(rows) perm=[3, 1, 2, 0]\n"
                              " t = Transpose(u) perm=[3, 1, 2, 0]\n"
                              " a = ScatterND(s, t) start=B\n"
                              " b = Transpose(a) perm=[2, 1, 3, 0]\n"
                              " c = Transpose(x) perm=[2, 1, 0, 3]\n"
                              " d = ScatterND(c, b) start=A\n"
                              " y = Transpose(d) perm=[2, 1, 0, 3] }")},
                     {.check = false});
  ASSERT_TRUE(search);
  std::vector<UnitOutcome> outcomes;
  for (size_t u = 0; u < search->size(); ++u)
    outcomes.push_back(search->run(u));
  const auto reduced = reduce(search->patterns(), outcomes);
  ASSERT_TRUE(reduced);
  const std::string name = "p/Transpose(Transpose(x))";
  EXPECT_TRUE(reduced->rules.findRule(name));
  EXPECT_TRUE(reduced->rules.findRule(name + "-2"));
  EXPECT_TRUE(packBytes(reduced->rules, searchNotes(identify(*search), 0, reduced->sources)));
}

// --- Outcomes as text ---

TEST(ScaleOutcomes, EveryOutcomeComesBackFromItsText) {
  size_t rules = 0;
  for (const UnitOutcome& o : whole().outcomes) {
    auto again = parseOutcome(print(o), "test");
    ASSERT_TRUE(again);
    EXPECT_EQ(print(*again), print(o));
    EXPECT_EQ(again->unit, o.unit);
    EXPECT_EQ(again->pattern, o.pattern);
    ASSERT_EQ(again->candidates.size(), o.candidates.size());
    for (size_t i = 0; i < o.candidates.size(); ++i) {
      const CandidateOutcome &here = again->candidates[i], &there = o.candidates[i];
      ASSERT_EQ(here.verdict.index(), there.verdict.index());
      if (there.rule()) {
        EXPECT_EQ(*here.rule(), *there.rule());
        ++rules;
      } else {
        EXPECT_EQ(here.drop()->reason, there.drop()->reason);
        EXPECT_EQ(here.drop()->detail, there.drop()->detail);
      }
    }
  }
  EXPECT_GT(rules, 20U);
  for (const char* text : {"", "{}", "[]", "{\"unit\": 1}", "{\"unit\": -1, \"pattern\": 2, \"candidates\": 3}"})
    EXPECT_FALSE(parseOutcome(text, "test")) << text;
  auto ofUnit = [](const char* unit, const char* source = "moves") {
    const char* const text = R"({{"unit": {}, "pattern": "p", "source": "{}", "candidates": []}})";
    return parseOutcome(fmt::format(fmt::runtime(text), unit, source), "test");
  };
  EXPECT_TRUE(ofUnit("1"));
  EXPECT_TRUE(ofUnit("1", "template"));
  EXPECT_FALSE(ofUnit("1", "thought"));
  for (const char* unit : {"1e300", "2.5", "true", "-1", "1e400", "18446744073709551616"})
    EXPECT_FALSE(ofUnit(unit)) << unit;
}

// --- Checkpoints ---

TEST(ScaleCheckpoint, HoldsWhatWasAdded) {
  TemporaryFile file("holds");
  {
    auto c = Checkpoint::create(file.path(), whole().id, {});
    ASSERT_TRUE(c) << c.error().message();
    for (size_t u : {3, 0, 7})
      ASSERT_TRUE(c->add(whole().outcomes[u]));
    auto second = Checkpoint::resume(file.path(), whole().id, {});
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().what.find("another process"), std::string::npos);
  }
  auto c = Checkpoint::resume(file.path(), whole().id, {});
  ASSERT_TRUE(c) << c.error().message();
  EXPECT_EQ(texts(c->takeDone()), texts({whole().outcomes[3], whole().outcomes[0], whole().outcomes[7]}));
  auto fresh = Checkpoint::create(file.path(), whole().id, {});
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().kind, ErrorKind::kUsage);
}

/// As a kill at any moment leaves it: what was whole is there, the rest is not, and can be added.
TEST(ScaleCheckpoint, CutOffAnywhere) {
  std::vector<UnitOutcome> some(whole().outcomes.begin(), whole().outcomes.begin() + 3);
  std::string head = checkpointHead(whole().id, {});
  std::string bytes = head;
  std::vector<size_t> ends{head.size()};
  for (const UnitOutcome& o : some) {
    bytes += checkpointLine(o);
    ends.push_back(bytes.size());
  }
  TemporaryFile file("cut");
  for (size_t size = head.size(); size <= bytes.size(); ++size) {
    auto lines = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    std::vector<UnitOutcome> there(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(lines));
    auto read = readOutcomes(bytes.substr(0, size), "test");
    ASSERT_TRUE(read) << size;
    ASSERT_EQ(texts(read->done), texts(there)) << size;
    if (size % 7 != 0) continue;  // files are slow
    file.write(bytes.substr(0, size));
    {
      auto c = Checkpoint::resume(file.path(), whole().id, {});
      ASSERT_TRUE(c) << size;
      ASSERT_EQ(c->takeDone().size(), lines);
      for (size_t i = lines; i < some.size(); ++i)
        ASSERT_TRUE(c->add(some[i]));
    }
    ASSERT_EQ(file.bytes(), bytes) << size;
  }
  for (size_t size = 0; size < head.size(); ++size)
    ASSERT_FALSE(readOutcomes(bytes.substr(0, size), "test")) << size;
}

/// No byte can change unseen: what can be read is what was written, up to a last line that is not whole.
TEST(ScaleCheckpoint, DamagedAnywhere) {
  std::string bytes = checkpointHead(whole().id, {});
  for (size_t u : {0, 1})
    bytes += checkpointLine(whole().outcomes[u]);
  auto right = texts(readOutcomes(bytes, "test")->done);
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (char to : {static_cast<char>(bytes[at] ^ 1), '\n', '\0'}) {
      if (bytes[at] == to) continue;
      std::string damaged = bytes;
      damaged[at] = to;
      auto read = readOutcomes(damaged, "test");
      refused += !read;
      if (!read) continue;
      auto there = texts(read->done);
      ASSERT_LT(there.size(), right.size()) << at;
      ASSERT_TRUE(std::equal(there.begin(), there.end(), right.begin())) << at;
    }
  }
  EXPECT_GT(refused, 2 * bytes.size());
}

struct Foreign {
  const char* what;
  void (*change)(SearchId&, Shard&);
};

const Foreign kForeign[] = {
    {"depth 3, not 4", [](SearchId& id, Shard&) { id.depth = 3; }},
    {"7 operations for a proof, not 4000000", [](SearchId& id, Shard&) { id.operations = 7; }},
    {"other patterns", [](SearchId& id, Shard&) { id.patterns += " "; }},
    {"another build of pet", [](SearchId& id, Shard&) { id.code = "0"; }},
    {"with isl-0.1, not", [](SearchId& id, Shard&) { id.poly = "isl-0.1"; }},
    {"other units", [](SearchId& id, Shard&) { id.names = "0"; }},
    {"part 1/2, not 1/1", [](SearchId&, Shard& shard) { shard.count = 2; }},
};

TEST(ScaleCheckpoint, OfAnotherSearchIsRefused) {
  TemporaryFile file("foreign");
  for (const Foreign& f : kForeign) {
    SearchId id = whole().id;
    Shard shard;
    f.change(id, shard);
    file.write(checkpointHead(id, shard));
    auto c = Checkpoint::resume(file.path(), whole().id, {});
    ASSERT_FALSE(c) << f.what;
    EXPECT_EQ(c.error().kind, ErrorKind::kUsage);
    EXPECT_NE(c.error().what.find(std::string("of another search: ") + f.what), std::string::npos) << c.error().what;
    EXPECT_EQ(file.bytes(), checkpointHead(id, shard));
  }
  file.write(partBytes(whole().id, {}, {}));
  EXPECT_FALSE(Checkpoint::resume(file.path(), whole().id, {}));
}

// --- Shards ---

TEST(ScaleShard, EveryUnitIsOfOne) {
  for (size_t count : {1, 2, 3, 7, 50}) {
    std::vector<size_t> times(20);
    for (size_t i = 1; i <= count; ++i) {
      for (size_t u : unitsOf({i, count}, times.size())) {
        EXPECT_TRUE((Shard{i, count}).has(u));
        ++times[u];
      }
    }
    EXPECT_EQ(times, std::vector<size_t>(20, 1)) << count;
  }
}

TEST(ScaleShard, Text) {
  auto shard = parseShard("2/4");
  ASSERT_TRUE(shard);
  EXPECT_EQ(*shard, (Shard{2, 4}));
  EXPECT_EQ(shard->str(), "2/4");
  for (const char* text : {"", "/", "1", "1/", "/4", "0/4", "5/4", "1/0", "-1/4", "1/-4", "a/b", "1/4x", "1//4", " 1/4",
                           "1/100001", "99999999999999999999/4"})
    EXPECT_FALSE(parseShard(text)) << text;
}

/// Reduced in any order, and from parts: the same bytes.
TEST(ScaleParts, MakeWhatOneRunMakes) {
  std::string pack = whole().pack();
  auto backwards = whole().outcomes;
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(packOf(whole().search, whole().id, backwards), pack);
  for (size_t count : {1, 2, 5}) {
    std::vector<NamedPart> parts;
    for (size_t i = count; i >= 1; --i)
      parts.push_back({fmt::format("part{}", i), whole().part(i, count)});
    auto merged = mergeParts(parts);
    ASSERT_TRUE(merged) << merged.error().message();
    EXPECT_EQ(merged->missing, 0U);
    EXPECT_EQ(*packBytes(merged->rules, merged->notes), pack) << count;
  }
}

/// Times are no part of it.
TEST(ScaleParts, BytesDependOnOutcomesAlone) {
  auto slower = whole().outcomes;
  std::reverse(slower.begin(), slower.end());
  for (UnitOutcome& o : slower)
    o.candidates[0].seconds.prove += 1;
  EXPECT_EQ(partBytes(whole().id, {}, whole().outcomes), partBytes(whole().id, {}, slower));
}

TEST(ScaleParts, WhatAPartMayNotBe) {
  auto expectRefused = [](std::vector<NamedPart> parts, const std::string& words) {
    auto merged = mergeParts(std::move(parts));
    ASSERT_FALSE(merged) << words;
    EXPECT_NE(merged.error().message().find(words), std::string::npos) << merged.error().message();
  };
  NamedPart one{"one", whole().part(1, 3)}, two{"two", whole().part(2, 3)}, three{"three", whole().part(3, 3)};
  expectRefused({one, three}, "1 of 3 parts are missing: 2/3");
  expectRefused({three}, "2 of 3 parts are missing: 1/3 2/3");
  NamedPart again = two;
  again.name = "again";
  expectRefused({one, two, again, three}, "again: part 2/3 comes twice, also as two");
  expectRefused({one, {"four", whole().part(2, 4)}, three}, "four: part 2/4, but one is part 1/3");
  again.outcomes.id.depth = 3;
  expectRefused({one, again, three}, "again: of another search than one: depth 3, not 4");
  again = two;
  again.name = "again";
  again.outcomes.ended = false;
  expectRefused({one, again, three}, "again: a checkpoint, or a part that was cut off");
  again.outcomes = one.outcomes;
  again.outcomes.id.code = "0";
  expectRefused({again}, "again: made by another build");
}

TEST(ScaleParts, ABudgetLeavesAPartialPack) {
  NamedPart one{"one", whole().part(1, 2)}, two{"two", whole().part(2, 2)};
  two.outcomes.done.resize(two.outcomes.done.size() - 2);
  auto merged = mergeParts({one, two});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->missing, 2U);
  EXPECT_EQ(merged->notes.metadata.at("partial"), fmt::format("2 of {} units are missing", whole().search.size()));
}

/// A part that lost lines is not taken for one that was stopped.
TEST(ScaleParts, CutOffAnywhere) {
  std::string bytes = partBytes(whole().id, {}, {whole().outcomes[0]});
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto read = readOutcomes(bytes.substr(0, size), "test");
    EXPECT_FALSE(read && read->ended) << size;
  }
  std::string twice = checkpointHead(whole().id, {}) + checkpointLine(whole().outcomes[0]);
  EXPECT_FALSE(readOutcomes(twice + checkpointLine(whole().outcomes[0]), "test"));
  EXPECT_FALSE(readOutcomes(bytes + checkpointLine(whole().outcomes[1]), "test"));
  EXPECT_FALSE(readOutcomes(checkpointHead(whole().id, {1, 2}) + checkpointLine(whole().outcomes[1]), "test"));
}

// --- Running ---

TEST(ScaleRun, StopsWhereItIsTold) {
  size_t asked = 0, done = 0;
  std::vector<size_t> units = unitsOf({}, whole().search.size());
  auto ran = runHere(whole().search, units, {.threads = 2, .stop = [&] { return ++asked > 5; }},
                     [&](const UnitOutcome&) -> Expected<void> {
                       ++done;
                       return {};
                     });
  EXPECT_TRUE(ran);
  EXPECT_EQ(done, 5U);
}

TEST(ScaleRun, AnErrorOfTheSinkEndsIt) {
  size_t done = 0;
  auto ran = runHere(whole().search, unitsOf({}, whole().search.size()), {.threads = 2},
                     [&](const UnitOutcome&) -> Expected<void> {
                       if (++done < 3) return {};
                       return fail(ErrorKind::kUsage, "full");
                     });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().what, "full");
  EXPECT_EQ(done, 3U);
}

// --- Reduction ---

UnitOutcome outcomeOf(size_t unit,
                      const std::string& name,
                      const std::string& statement,
                      const std::string& shapes = "N : 1 <= N") {
  std::string text = fmt::format(
      "rule r/{} of r {{\n  family test\n  depth 1\n  class {}\n  numerics same-terms\n  replacement {{\n    "
      "{}\n  }}\n  proof {{\n  }}\n}}\n",
      name, shapes, statement);
  return {unit, "r", Source::kMoves, {{.name = name, .verdict = text, .seconds = {}}}};
}

const char kRelu[] = "pattern r { shape N : 1 <= N\n x: [N]\n y = Relu(x) }";

/// "name reason detail" of each candidate.
std::string fates(const Synthesis& reduced) {
  std::string found;
  for (const CandidateOutcome& c : reduced.reports.at(0).candidates)
    found += fmt::format("{} {}\n", c.name,
                         c.drop() ? fmt::format("{} {}", dropName(c.drop()->reason), c.drop()->detail) : "kept");
  return found;
}

TEST(ScaleReduce, OfEqualProgramsTheFirstUnitsIsKept) {
  Pattern r = pattern(kRelu);
  std::vector<UnitOutcome> outcomes{outcomeOf(7, "c", "y = Neg(x)"), outcomeOf(9, "a", "z = Neg(x)"),
                                    outcomeOf(3, "b", "q = Neg(x)"), outcomeOf(1, "d", "y = Sqrt(x)")};
  outcomes.push_back(
      {0, "r", Source::kTemplate, {{.name = "e", .verdict = Drop{DropReason::kUnknown, "x"}, .seconds = {}}}});
  auto reduced = reduce({r}, outcomes);
  ASSERT_TRUE(reduced) << reduced.error().message();
  EXPECT_EQ(fates(*reduced), "e unknown x\nd kept\nb kept\nc duplicate of b\na duplicate of b\n");
  ASSERT_EQ(reduced->rules.rules.size(), 2U);
  EXPECT_EQ(reduced->rules.rules[0].name, "r/b");
  EXPECT_EQ(reduced->sources, (std::map<std::string, Source>{{"r/b", Source::kMoves}, {"r/d", Source::kMoves}}));
  EXPECT_EQ(reduced->rules.rules[1].name, "r/d");
}

/// A program over shapes that the first one's class does not have is no duplicate.
TEST(ScaleReduce, OfEqualProgramsTheWiderClassIsKept) {
  auto kept = [](const std::vector<UnitOutcome>& outcomes) {
    auto reduced = reduce({pattern(kRelu)}, outcomes);
    EXPECT_TRUE(reduced) << (reduced ? "" : reduced.error().message());
    return reduced ? fates(*reduced) : "";
  };
  EXPECT_EQ(kept({outcomeOf(1, "narrow", "y = Neg(x)", "N : 4 <= N"), outcomeOf(2, "wide", "y = Neg(x)"),
                  outcomeOf(3, "middle", "y = Neg(x)", "N : 2 <= N")}),
            "narrow instance of r/wide\nwide kept\nmiddle duplicate of wide\n");
  EXPECT_EQ(kept({outcomeOf(1, "large", "y = Neg(x)", "N : 4 <= N"),
                  outcomeOf(2, "small", "y = Neg(x)", "N : 1 <= N, N <= 6")}),
            "large kept\nsmall kept\n");
}

}  // namespace
}  // namespace pet::scale_test
