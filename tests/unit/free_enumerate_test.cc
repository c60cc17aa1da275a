#include <set>

#include <gtest/gtest.h>

#include "tests/unit/free_support.h"

namespace pet::freemode::free_enumerate_test {
namespace {

using testing_support::classesOf;
using testing_support::vocabulary;

/// Every graph of at most so many operators, made without classes, node sets or names: sets of applications of steps on
/// sub-graphs. What the enumeration finds is compared with it.
class Reference {
 public:
  Reference(const Vocabulary& v, size_t most) : v_(v), steps_(stepsOf(v)), most_(most) {
    fingerprints_.reserve(1 << 12);
    for (size_t i = 0; i < v.leaves.size(); ++i)
      add({0, -1, -1, typeOf(v.leaves[i]), leafValue(v.leaves[i], mix(1) + i), {}, uint32_t{1} << i});
    // A graph's operands were made before it, so one round more than there are operators finds nothing.
    for (size_t before = 0; before != graphs_.size();) {
      before = graphs_.size();
      for (size_t a = 0; a < before; ++a) {
        for (int b = -1; b < static_cast<int>(before); ++b)
          extend(static_cast<int>(a), b);
      }
    }
  }

  struct Graph {
    uint32_t step;
    int a, b;
    TensorType type;
    std::vector<Element> value;
    std::set<int> nodes;  ///< graphs at its operators
    uint32_t inputs;
  };
  const std::vector<Graph>& graphs() const { return graphs_; }
  std::pair<uint64_t, uint64_t> keyOf(const Graph& g) const {
    return {fingerprints_.of(g.type, g.value.data()), g.type.key()};
  }
  /// The operators of the smallest graph of each class.
  std::map<std::pair<uint64_t, uint64_t>, size_t> sizes() const {
    std::map<std::pair<uint64_t, uint64_t>, size_t> all;
    for (const Graph& g : graphs_) {
      auto [it, isNew] = all.emplace(keyOf(g), g.nodes.size());
      it->second = std::min(it->second, g.nodes.size());
    }
    return all;
  }

 private:
  void add(Graph g) { graphs_.push_back(std::move(g)); }

  void extend(int a, int b) {
    if (graphs_[static_cast<size_t>(a)].nodes.size() >= most_) return;
    if (b >= 0 && graphs_[static_cast<size_t>(b)].nodes.size() >= most_) return;
    for (uint32_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if ((b >= 0) != (step.operands == 2)) continue;
      if (step.commutative && b < a) continue;
      if (!done_.insert({s, a, b}).second) continue;
      Graph g;
      g.step = s;
      g.a = a;
      g.b = b;
      const Graph &x = graphs_[static_cast<size_t>(a)], &y = graphs_[static_cast<size_t>(std::max(b, 0))];
      if (v_.distinctOperands && b >= 0 && keyOf(x) == keyOf(y)) continue;
      g.nodes = x.nodes;
      if (b >= 0) g.nodes.insert(y.nodes.begin(), y.nodes.end());
      if (g.nodes.size() >= most_) continue;
      const TensorType* types[] = {&x.type, &y.type};
      auto type = resultType(step, {types, b >= 0 ? 2u : 1u}, joins_);
      if (!type) continue;
      if (step.op.kind == OperatorKind::kConcat) joins_.note(joinOf(step, x.type, y.type));
      g.type = *type;
      g.inputs = x.inputs | (b >= 0 ? y.inputs : 0);
      g.value.resize(type->size());
      TensorView views[] = {{&x.type, x.value.data()}, {&y.type, y.value.data()}};
      compute(step, {views, b >= 0 ? 2u : 1u}, *type, g.value.data(), scratch_);
      g.nodes.insert(static_cast<int>(graphs_.size()));
      add(std::move(g));
    }
  }

  const Vocabulary& v_;
  std::vector<Step> steps_;
  size_t most_;
  Fingerprints fingerprints_{1};
  Joins joins_;
  Scratch scratch_;
  std::vector<Graph> graphs_;
  std::set<std::tuple<uint32_t, int, int>> done_;
};

const char* const kVocabularies[] = {
    "inputs x y: [2, 2]\noperator Add\noperator Relu\noperator MatMul\ndistinct operands\n",
    "inputs x y: [2, 2]\noperator Add\noperator Mul\n",
    "inputs x: [2, 2]\nweights s: []\noperator Mul\noperator Transpose\noperator Relu\noperator Add\ndistinct "
    "operands\n",
    "inputs x y z: [1, 2]\noperator Concat axis=0\noperator Relu\ndistinct operands\n",
    "inputs x: [1, 2, 3, 3]\nweights k l: [2, 2, 1, 1]\nconstant e = IdentityKernel [2, 2, 1, 1]\n"
    "operator Conv kernel=[1, 1] activation={none, Relu}\noperator Add\noperator MaxPool kernel=[3, 3]\ndistinct "
    "operands\n",
};

/// Without sub-graphs that are not minimal for their class: those are not extended, so that a class of which every
/// smallest graph holds one may be missing. None of these vocabularies has such a class.
TEST(FreeEnumeration, TheClassesAndSizesOfTheNaiveEnumeration) {
  for (const char* text : kVocabularies) {
    Vocabulary v = vocabulary(text);
    Reference reference(v, 3);
    std::vector<Candidate> found;
    ClassTable table = classesOf(v, 3, found);
    auto expected = reference.sizes();
    std::map<std::pair<uint64_t, uint64_t>, size_t> sizes;
    for (ClassId c = 0; c < table.classes.size(); ++c)
      sizes.emplace(std::pair{table.classes[c].fingerprint, table.typeOf(c).key()}, table.classes[c].size);
    EXPECT_EQ(sizes, expected) << text;
  }
}

/// Node sets in classes, of the graphs all of whose sub-graphs are minimal.
TEST(FreeEnumeration, TheMembersOfTheNaiveEnumeration) {
  for (const char* text : kVocabularies) {
    Vocabulary v = vocabulary(text);
    Reference reference(v, 3);
    std::vector<Candidate> found;
    ClassTable table = classesOf(v, 3, found);
    std::map<std::pair<uint64_t, uint64_t>, ClassId> ids;
    for (ClassId c = 0; c < table.classes.size(); ++c)
      ids.emplace(std::pair{table.classes[c].fingerprint, table.typeOf(c).key()}, c);
    std::map<ClassId, std::set<std::set<ClassId>>> expected, members;
    auto sizes = reference.sizes();
    const auto& graphs = reference.graphs();
    auto minimal = [&](const Reference::Graph& g) { return sizes.at(reference.keyOf(g)) == g.nodes.size(); };
    for (const Reference::Graph& g : graphs) {
      bool all = minimal(g);
      std::set<ClassId> nodes;
      for (int n : g.nodes) {
        all = all && minimal(graphs[static_cast<size_t>(n)]);
        nodes.insert(ids.at(reference.keyOf(graphs[static_cast<size_t>(n)])));
      }
      if (all) expected[ids.at(reference.keyOf(g))].insert(nodes);
    }
    for (ClassId c = 0; c < table.classes.size(); ++c) {
      for (const Member& m : table.membersOf(c))
        EXPECT_TRUE(members[c].insert({m.nodes.nodes.begin(), m.nodes.nodes.begin() + m.nodes.size}).second);
    }
    EXPECT_EQ(members, expected) << text;
  }
}

/// The last level: the fingerprints of all graphs of that size, once one is as good as another under new names.
TEST(FreeEnumeration, TheLastLevelHasAGraphForEveryNaiveOne) {
  for (const char* text : kVocabularies) {
    Vocabulary v = vocabulary(text);
    Reference reference(v, 3);
    std::vector<Candidate> found;
    ClassTable table = classesOf(v, 2, found);
    LevelCount count;
    std::set<uint64_t> last, expected;
    for (const Candidate& c : lastLevel(table, {}, count))
      last.insert(c.fingerprint);
    auto sizes = reference.sizes();
    for (const Reference::Graph& g : reference.graphs()) {
      bool isNew = g.nodes.size() == 3 && sizes.at(reference.keyOf(g)) == 3;
      if (isNew && table.isCanonical(g.inputs)) expected.insert(reference.keyOf(g).first);
    }
    EXPECT_TRUE(std::includes(last.begin(), last.end(), expected.begin(), expected.end())) << text;
  }
}

TEST(FreeEnumeration, NamesAndTheirNumber) {
  Vocabulary v = vocabulary("inputs x y z: [2]\nweights k l: [2]\noperator Add\n");
  ClassTable t = leafClasses(v, 1);
  struct Case {
    uint32_t inputs;
    bool canonical;
    uint64_t multiplicity;
  };
  for (auto [inputs, canonical, multiplicity] :
       {Case{0b00001, true, 3}, Case{0b00010, false, 3}, Case{0b00011, true, 3}, Case{0b00111, true, 1},
        Case{0b00101, false, 3}, Case{0b01001, true, 6}, Case{0b10001, false, 6}, Case{0b11111, true, 1}}) {
    EXPECT_EQ(t.isCanonical(inputs), canonical) << inputs;
    EXPECT_EQ(t.multiplicity(inputs), multiplicity) << inputs;
  }
}

/// Canonical graphs with their multiplicities are all graphs.
TEST(FreeEnumeration, MultiplicitiesAddUp) {
  for (const char* text : kVocabularies) {
    std::vector<Candidate> found;
    ClassTable two = classesOf(vocabulary(text), 2, found);
    LevelCount last;
    lastLevel(two, {}, last);
    std::vector<Candidate> more;
    EXPECT_EQ(last.graphs, extend(two, more).graphs) << text;
  }
}

TEST(FreeEnumeration, ValuesThatAreNotKeptAreComputedAgain) {
  for (const char* text : kVocabularies) {
    std::vector<Candidate> found;
    ClassTable kept = classesOf(vocabulary(text), 1, found), dropped = kept;
    std::vector<Candidate> foundKept, foundDropped;
    extend(kept, foundKept);
    extend(dropped, foundDropped, Values::kDropped);
    EXPECT_LT(dropped.values.size(), kept.values.size());
    LevelCount count;
    auto fingerprints = [&](const ClassTable& t) {
      std::multiset<std::pair<uint64_t, Application>> all;
      for (const Candidate& c : lastLevel(t, {}, count))
        all.emplace(c.fingerprint, c.application);
      return all;
    };
    EXPECT_EQ(fingerprints(dropped), fingerprints(kept)) << text;
  }
}

TEST(FreeEnumeration, PartsAreThePartsOfTheWhole) {
  std::vector<Candidate> found;
  ClassTable table = classesOf(vocabulary(kVocabularies[0]), 2, found);
  LevelCount count;
  std::vector<Candidate> whole = lastLevel(table, {}, count), parts;
  EXPECT_EQ(countLastLevel(table), count.evaluated);
  for (uint32_t i = 0; i < 7; ++i) {
    auto part = lastLevel(table, {i, 7}, count);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  std::sort(whole.begin(), whole.end());
  std::sort(parts.begin(), parts.end());
  auto same = [](const Candidate& a, const Candidate& b) {
    return a.fingerprint == b.fingerprint && a.application == b.application && a.size == b.size;
  };
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), parts.begin(), parts.end(), same));
}

}  // namespace
}  // namespace pet::freemode::free_enumerate_test
