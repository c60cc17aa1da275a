#include "synth/free/enumerate.h"

#include <algorithm>
#include <atomic>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "synth/free/partners.h"
#include "synth/free/shared_count.h"

namespace pet::freemode {
namespace {

constexpr size_t kGrain = 64;  ///< classes that a thread extends at a time
constexpr size_t kMostElementsOfValue = 1 << 17;

/// A value that the table does not keep.
struct Recomputed {
  ClassId of = kNoClass;
  std::vector<Element> value;
};

/// What a thread needs to compute an application.
struct Worker {
  Recomputed extended, other;  ///< of the class that is being extended, and of its partner
  Scratch scratch;
  std::vector<Element> value;
  std::vector<ClassId> partners;
  std::vector<Candidate> found;
  uint64_t evaluated = 0, graphs = 0;
};
using Workers = tbb::enumerable_thread_specific<Worker>;

std::optional<TensorType> typeOf(const ClassTable& t, const Application& a) {
  const TensorType* operands[] = {&t.typeOf(a.a), a.b == kNoClass ? nullptr : &t.typeOf(a.b)};
  return resultType(t.steps[a.step], {operands, a.b == kNoClass ? 1u : 2u}, t.joins);
}

void computeInto(const ClassTable& t, const Application& a, const TensorType& type, Element* out, Scratch& scratch) {
  TensorView operands[] = {t.view(a.a), a.b == kNoClass ? TensorView{} : t.view(a.b)};
  compute(t.steps[a.step], {operands, a.b == kNoClass ? 1u : 2u}, type, out, scratch);
}

TensorView viewOf(const ClassTable& t, ClassId c, Worker& w) {
  if (t.hasValue(c)) return t.view(c);
  Recomputed& r = c == w.extended.of || w.extended.of == kNoClass ? w.extended : w.other;
  if (r.of != c || r.value.empty()) {
    r.of = c;
    r.value.resize(t.typeOf(c).size());
    computeInto(t, t.membersOf(c)[0].application, t.typeOf(c), r.value.data(), w.scratch);
  }
  return {&t.typeOf(c), r.value.data()};
}

uint64_t fingerprintOf(const ClassTable& t, const Application& a, const TensorType& type, Worker& w) {
  w.value.resize(std::max(w.value.size(), type.size()));
  TensorView operands[] = {viewOf(t, a.a, w), a.b == kNoClass ? TensorView{} : viewOf(t, a.b, w)};
  compute(t.steps[a.step], {operands, a.b == kNoClass ? 1u : 2u}, type, w.value.data(), w.scratch);
  return t.fingerprints.of(type, w.value.data());
}

/// Calls use(application, type, worker) for each application that makes a graph of one operator more and that `wanted`
/// takes, class by class in parallel.
template <class Wanted, class Use>
void forEachApplication(
    const ClassTable& t, Workers& workers, Wanted wanted, Use use, const ReportShare& progress = nullptr) {
  const PartnerIndex index(t);
  SharedCount done(t.classes.size(), progress);
  tbb::parallel_for(tbb::blocked_range<size_t>(0, t.classes.size(), kGrain), [&](const auto& range) {
    Worker& w = workers.local();
    auto offer = [&](uint32_t step, ClassId a, ClassId b) {
      Application application{step, a, b};
      uint32_t inputs = t.inputsOf(application);
      if ((inputs & ~t.folded) == 0 || !wanted(inputs)) return;
      if (auto type = typeOf(t, application); type && type->size() <= kMostElementsOfValue) use(application, *type, w);
    };
    for (size_t i = range.begin(); i < range.end(); ++i) {
      auto a = static_cast<ClassId>(i);
      w.extended = {.of = a, .value = std::move(w.extended.value)};
      w.extended.value.clear();
      bool largest = t.classes[a].size == t.size();
      for (uint32_t s = 0; largest && s < t.steps.size(); ++s) {
        bool allowed = t.steps[s].operands == 1 && (!t.steps[s].op.ofInputs || t.isLeaf(a));
        if (allowed) offer(s, a, kNoClass);
      }
      index.partnersOf(a, w.partners);
      for (ClassId b : w.partners) {
        for (uint32_t s = 0; s < t.steps.size(); ++s) {
          if (t.steps[s].operands != 2) continue;
          offer(s, std::min(a, b), std::max(a, b));
          if (!t.steps[s].commutative && a != b) offer(s, std::max(a, b), std::min(a, b));
        }
      }
    }
    done.add(range.size());
  });
}

std::vector<Candidate> collect(Workers& workers) {
  size_t count = 0;
  for (const Worker& w : workers)
    count += w.found.size();
  std::vector<Candidate> all;
  all.reserve(count);
  for (Worker& w : workers) {
    all.insert(all.end(), w.found.begin(), w.found.end());
    std::vector<Candidate>().swap(w.found);
  }
  return all;
}

/// One level of classes with all that belongs to them.
class Extension {
 public:
  Extension(ClassTable& table, std::vector<Candidate>& found) : t_(table), found_(found) {}

  LevelCount run(Values values, const ReportShare& progress) {
    evaluate(progress);
    assignClasses();
    addMembers();
    if (values == Values::kKept) computeValues();
    return count_;
  }

 private:
  /// A candidate with its type: classes of one level differ in either.
  struct Typed {
    uint64_t typeKey;
    Candidate candidate;
    friend bool operator<(const Typed& a, const Typed& b) {
      return std::tie(a.candidate.fingerprint, a.typeKey, a.candidate.application) <
             std::tie(b.candidate.fingerprint, b.typeKey, b.candidate.application);
    }
    bool sameClass(const Typed& o) const {
      return typeKey == o.typeKey && candidate.fingerprint == o.candidate.fingerprint;
    }
  };

  void evaluate(const ReportShare& progress) {
    Workers workers;
    tbb::enumerable_thread_specific<std::vector<Typed>> typed;
    auto size = static_cast<uint32_t>(t_.size() + 1);
    auto all = [](uint32_t) { return true; };
    auto enter = [&](const Application& a, const TensorType& type, Worker& w) {
      typed.local().push_back({type.key(), {fingerprintOf(t_, a, type, w), a, size}});
    };
    forEachApplication(t_, workers, all, enter, progress);
    size_t count = 0;
    for (const auto& part : typed)
      count += part.size();
    all_.reserve(count);
    for (auto& part : typed) {
      all_.insert(all_.end(), part.begin(), part.end());
      std::vector<Typed>().swap(part);
    }
    tbb::parallel_sort(all_.begin(), all_.end());
    count_.evaluated = count_.graphs = all_.size();
    if (size == 2) count_.sharing = pairsOnOneNode();
    for (const Typed& c : all_) {
      if (t_.isCanonical(t_.inputsOf(c.candidate.application))) found_.push_back(c.candidate);
    }
  }

  uint64_t pairsOnOneNode() const {
    std::map<ClassId, uint64_t> graphs;
    for (const Typed& c : all_) {
      const Application& a = c.candidate.application;
      ++graphs[t_.classes[t_.isLeaf(a.a) ? a.b : a.a].node];
    }
    uint64_t pairs = 0;
    for (const auto& [node, n] : graphs)
      pairs += n * (n - 1) / 2;
    return pairs;
  }

  /// Older classes, by fingerprint and type.
  std::map<std::pair<uint64_t, uint64_t>, ClassId> known() const {
    std::map<std::pair<uint64_t, uint64_t>, ClassId> known;
    for (ClassId c = 0; c < t_.classes.size(); ++c)
      known.emplace(std::pair{t_.classes[c].fingerprint, t_.typeOf(c).key()}, c);
    return known;
  }

  uint32_t intern(const TensorType& type) {
    auto [it, isNew] = types_.emplace(type.key(), static_cast<uint32_t>(t_.types.size()));
    if (isNew) t_.types.push_back(type);
    return it->second;
  }

  void assignClasses() {
    auto older = known();
    for (uint32_t i = 0; i < t_.types.size(); ++i)
      types_.emplace(t_.types[i].key(), i);
    for (size_t begin = 0, end = 0; begin < all_.size(); begin = end) {
      while (end < all_.size() && all_[end].sameClass(all_[begin]))
        ++end;
      const Typed& first = all_[begin];
      if (older.contains({first.candidate.fingerprint, first.typeKey})) continue;
      groups_.push_back({begin, end});
      const Application& a = first.candidate.application;
      ValueClass c;
      c.fingerprint = first.candidate.fingerprint;
      c.inputs = t_.inputsOf(a);
      c.type = intern(*typeOf(t_, a));
      c.node = static_cast<ClassId>(t_.classes.size());
      c.size = static_cast<uint8_t>(first.candidate.size);
      if (t_.steps[a.step].op.kind == OperatorKind::kConcat) {
        t_.joins.note(joinOf(t_.steps[a.step], t_.typeOf(a.a), t_.typeOf(a.b)));
      }
      t_.classes.push_back(c);
    }
    count_.classes = groups_.size();
    shareNodes();
  }

  bool isSplit(const Application& a) const { return t_.steps[a.step].op.kind == OperatorKind::kSplit; }

  /// Where both outputs of a Split are new, they are one node.
  void shareNodes() {
    ClassId first = t_.levels.back();
    std::map<Application, ClassId> firstOutputs;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Application& a = all_[groups_[g].first].candidate.application;
      if (isSplit(a) && t_.steps[a.step].output == 0) firstOutputs.emplace(a, first + static_cast<ClassId>(g));
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      Application a = all_[groups_[g].first].candidate.application;
      if (!isSplit(a) || t_.steps[a.step].output == 0) continue;
      --a.step;
      if (auto it = firstOutputs.find(a); it != firstOutputs.end()) t_.classes[first + g].node = it->second;
    }
  }

  /// All node sets of the smallest size, each once.
  void addMembers() {
    const size_t below = t_.size();
    t_.members.reserve(t_.members.size() + all_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      ValueClass& c = t_.classes[t_.levels.back() + g];
      c.firstMember = static_cast<uint32_t>(t_.members.size());
      for (size_t i = groups_[g].first; i < groups_[g].second; ++i)
        addMembersOf(all_[i].candidate.application, below, c);
      c.members = static_cast<uint32_t>(t_.members.size()) - c.firstMember;
    }
    t_.levels.push_back(static_cast<ClassId>(t_.classes.size()));
  }

  void addMembersOf(const Application& a, size_t below, const ValueClass& c) {
    const NodeSet none;
    auto left = t_.membersOf(a.a);
    for (uint32_t i = 0; i < left.size(); ++i) {
      uint32_t rights = a.b == kNoClass ? 1 : t_.classes[a.b].members;
      for (uint32_t j = 0; j < rights; ++j) {
        auto nodes = unite(t_.membersOf(a.a)[i].nodes, a.b == kNoClass ? none : t_.membersOf(a.b)[j].nodes);
        if (!nodes || nodes->size != below) continue;
        nodes = with(*nodes, c.node);
        bool isNew = nodes && std::none_of(t_.members.begin() + c.firstMember, t_.members.end(),
                                           [&](const Member& m) { return m.nodes == *nodes; });
        if (isNew) t_.members.push_back({a, i, j, *nodes});
      }
    }
  }

  void computeValues() {
    const ClassId first = t_.levels[t_.levels.size() - 2];
    size_t end = t_.values.size();
    for (ClassId c = first; c < t_.classes.size(); ++c) {
      t_.classes[c].value = end;
      end += t_.typeOf(c).size();
    }
    t_.values.resize(end);
    tbb::enumerable_thread_specific<Scratch> scratch;
    tbb::parallel_for(tbb::blocked_range<ClassId>(first, static_cast<ClassId>(t_.classes.size()), kGrain),
                      [&](const auto& range) {
                        for (ClassId c = range.begin(); c < range.end(); ++c) {
                          computeInto(t_, t_.membersOf(c)[0].application, t_.typeOf(c),
                                      t_.values.data() + t_.classes[c].value, scratch.local());
                        }
                      });
  }

  ClassTable& t_;
  std::vector<Candidate>& found_;
  std::vector<Typed> all_;
  std::vector<std::pair<size_t, size_t>> groups_;  ///< in all_, one for each new class
  std::map<uint64_t, uint32_t> types_;
  LevelCount count_;
};

}  // namespace

ClassTable leafClasses(const Vocabulary& vocabulary, uint64_t seed) {
  ClassTable t;
  t.steps = stepsOf(vocabulary);
  t.lines = vocabulary.leafLines;
  t.distinctOperands = vocabulary.distinctOperands;
  t.fingerprints = Fingerprints(seed);
  std::map<uint64_t, uint32_t> types;
  t.fingerprints.reserve(kMostElementsOfValue);
  for (size_t i = 0; i < vocabulary.leaves.size(); ++i) {
    const TensorType type = freemode::typeOf(vocabulary.leaves[i]);
    std::vector<Element> value = leafValue(vocabulary.leaves[i], mix(seed) + i);
    auto [it, isNew] = types.emplace(type.key(), static_cast<uint32_t>(t.types.size()));
    if (isNew) t.types.push_back(type);
    ValueClass c;
    c.fingerprint = t.fingerprints.of(type, value.data());
    c.value = t.values.size();
    c.inputs = uint32_t{1} << i;
    c.firstMember = static_cast<uint32_t>(i);
    c.members = 1;
    c.type = it->second;
    t.classes.push_back(c);
    t.constants.push_back(vocabulary.leaves[i].constant);
    t.members.push_back({});
    bool folded = vocabulary.foldConstants && vocabulary.leaves[i].constant != Constant::kNone;
    if (folded) t.folded |= uint32_t{1} << i;
    t.values.insert(t.values.end(), value.begin(), value.end());
  }
  t.levels = {0, static_cast<ClassId>(t.classes.size())};
  return t;
}

std::vector<Candidate> leafCandidates(const ClassTable& t) {
  std::vector<Candidate> all;
  for (ClassId c = 0; c < t.levels[1]; ++c)
    all.push_back({t.classes[c].fingerprint, {0, c, kNoClass}, 0});
  return all;
}

LevelCount extend(ClassTable& table, std::vector<Candidate>& found, Values values, const ReportShare& progress) {
  return Extension(table, found).run(values, progress);
}

std::vector<Candidate> lastLevel(const ClassTable& t,
                                 const Part& part,
                                 LevelCount& count,
                                 const ReportShare& progress) {
  Workers workers;
  auto size = static_cast<uint32_t>(t.size() + 1);
  auto canonical = [&](uint32_t inputs) { return t.isCanonical(inputs); };
  auto enter = [&](const Application& a, const TensorType& type, Worker& w) {
    ++w.evaluated;
    uint64_t fingerprint = fingerprintOf(t, a, type, w);
    if (!part.holds(fingerprint)) return;
    w.graphs += t.multiplicity(t.inputsOf(a));
    w.found.push_back({fingerprint, a, size});
  };
  forEachApplication(t, workers, canonical, enter, progress);
  count = {};
  for (const Worker& w : workers) {
    count.evaluated += w.evaluated;
    count.graphs += w.graphs;
  }
  return collect(workers);
}

uint64_t countLastLevel(const ClassTable& t) {
  Workers workers;
  auto canonical = [&](uint32_t inputs) { return t.isCanonical(inputs); };
  forEachApplication(t, workers, canonical, [](const Application&, const TensorType&, Worker& w) { ++w.evaluated; });
  uint64_t all = 0;
  for (const Worker& w : workers)
    all += w.evaluated;
  return all;
}

}  // namespace pet::freemode
