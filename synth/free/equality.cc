#include "synth/free/equality.h"

#include <algorithm>

#include <fmt/format.h>

namespace pet::freemode {
namespace {

constexpr uint64_t kVariableSeed = 0x7661726961626c65;

/// A side in classes: what it computes below its end, operands first.
struct Side {
  std::vector<std::pair<ClassId, Application>> nodes;
  bool isLeaf = false;
  Application end;

  bool contains(ClassId c) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.first == c; });
  }
};

struct Computed {
  TensorType type;
  std::vector<Element> value;
};

/// Values of one side with some classes replaced by random variables.
class Evaluation {
 public:
  Evaluation(const ClassTable& t, const std::vector<ClassId>& cuts, Scratch& scratch)
      : t_(t), cuts_(cuts), scratch_(scratch) {}

  /// None where an operator does not take a variable: a Split of what was not joined.
  std::optional<Computed> run(const Side& side) {
    if (side.isLeaf) return read(side.end.a);
    for (const auto& [c, application] : side.nodes) {
      if (isCut(c) || !changed(application)) continue;
      auto computed = apply(application);
      if (!computed) return std::nullopt;
      if (!find(c)) changed_.emplace_back(c, std::move(*computed));
    }
    return apply(side.end);
  }

  Computed read(ClassId c) {
    if (isCut(c)) {
      TensorType type = t_.typeOf(c);
      type.joins = {};
      return {type, randomValue(type.size(), mix(kVariableSeed) ^ c)};
    }
    if (const Computed* computed = find(c)) return *computed;
    if (!t_.hasValue(c)) return *apply(t_.membersOf(c)[0].application);
    const Element* begin = t_.view(c).data;
    return {t_.typeOf(c), {begin, begin + t_.typeOf(c).size()}};
  }

 private:
  bool isCut(ClassId c) const { return std::find(cuts_.begin(), cuts_.end(), c) != cuts_.end(); }
  const Computed* find(ClassId c) const {
    for (const auto& [known, computed] : changed_) {
      if (known == c) return &computed;
    }
    return nullptr;
  }
  bool changed(const Application& a) const {
    auto one = [&](ClassId c) { return c != kNoClass && (isCut(c) || find(c)); };
    return one(a.a) || one(a.b);
  }

  std::optional<Computed> apply(const Application& a) {
    Computed x = read(a.a), y;
    const bool two = a.b != kNoClass;
    if (two) y = read(a.b);
    const TensorType* types[] = {&x.type, &y.type};
    auto type = resultType(t_.steps[a.step], {types, two ? 2u : 1u}, t_.joins);
    if (!type) return std::nullopt;
    TensorView views[] = {{&x.type, x.value.data()}, {&y.type, y.value.data()}};
    Computed out{*type, std::vector<Element>(type->size())};
    compute(t_.steps[a.step], {views, two ? 2u : 1u}, *type, out.value.data(), scratch_);
    return out;
  }

  const ClassTable& t_;
  const std::vector<ClassId>& cuts_;
  Scratch& scratch_;
  std::vector<std::pair<ClassId, Computed>> changed_;
};

void addMember(const ClassTable& t, ClassId c, uint32_t member, Side& into) {
  if (t.isLeaf(c) || into.contains(c)) return;
  const Member& m = t.membersOf(c)[member];
  addMember(t, m.application.a, m.memberA, into);
  if (m.application.b != kNoClass) addMember(t, m.application.b, m.memberB, into);
  if (!into.contains(c)) into.nodes.emplace_back(c, m.application);
}

/// With those members of the operands that have the fewest operators together.
Side sideOf(const ClassTable& t, const Candidate& candidate) {
  const Application& a = candidate.application;
  Side side;
  side.end = a;
  side.isLeaf = candidate.size == 0;
  if (side.isLeaf) return side;
  size_t least = std::numeric_limits<size_t>::max();
  std::pair<uint32_t, uint32_t> best;
  for (uint32_t i = 0; i < t.classes[a.a].members; ++i) {
    for (uint32_t j = 0; j < (a.b == kNoClass ? 1 : t.classes[a.b].members); ++j) {
      auto nodes = unite(t.membersOf(a.a)[i].nodes, a.b == kNoClass ? NodeSet() : t.membersOf(a.b)[j].nodes);
      if (!nodes || nodes->size >= least) continue;
      least = nodes->size;
      best = {i, j};
    }
  }
  addMember(t, a.a, best.first, side);
  if (a.b != kNoClass) addMember(t, a.b, best.second, side);
  std::sort(side.nodes.begin(), side.nodes.end());
  return side;
}

/// The two sides, with what becomes a variable.
class Generalisation {
 public:
  Generalisation(const ClassTable& t, const Candidate& left, const Candidate& right, Scratch& scratch)
      : t_(t), sides_{sideOf(t, left), sideOf(t, right)}, scratch_(scratch) {
    if (!isNodeOf(left, sides_[0], sides_[1])) isNodeOf(right, sides_[1], sides_[0]);
  }

  Equality run() {
    for (ClassId c : common()) {
      cuts_.push_back(c);
      if (!holds()) cuts_.pop_back();
    }
    Equality e;
    e.left = side(sides_[0], e);
    e.right = side(sides_[1], e);
    return e;
  }

 private:
  /// Where a node of the other side computes all that the candidate does, `side` becomes that node.
  bool isNodeOf(const Candidate& candidate, Side& side, const Side& other) const {
    if (side.isLeaf) return false;
    auto at = std::find_if(other.nodes.begin(), other.nodes.end(),
                           [&](const auto& n) { return t_.classes[n.first].fingerprint == candidate.fingerprint; });
    if (at == other.nodes.end()) return false;
    side.nodes.assign(other.nodes.begin(), at + 1);
    side.end = {0, at->first, kNoClass};
    side.isLeaf = true;
    return true;
  }

  /// What is below the end of both sides, the largest first, then constants.
  std::vector<ClassId> common() const {
    std::vector<ClassId> nodes, constants;
    for (const auto& [id, application] : sides_[0].nodes) {
      if (reads(sides_[1], id)) nodes.push_back(id);
    }
    std::sort(nodes.rbegin(), nodes.rend());
    for (ClassId c = 0; c < t_.levels[1]; ++c) {
      if (t_.constants[c] != Constant::kNone && reads(sides_[0], c) && reads(sides_[1], c)) nodes.push_back(c);
    }
    return nodes;
  }

  static bool reads(const Side& side, ClassId c) {
    auto one = [&](const Application& a) { return a.a == c || a.b == c; };
    return one(side.end) || std::any_of(side.nodes.begin(), side.nodes.end(),
                                        [&](const auto& n) { return n.first == c || one(n.second); });
  }

  bool holds() {
    auto left = Evaluation(t_, cuts_, scratch_).run(sides_[0]), right = Evaluation(t_, cuts_, scratch_).run(sides_[1]);
    return left && right && left->type.sameExtents(right->type) && left->value == right->value;
  }

  Operand side(const Side& s, Equality& e) {
    std::map<ClassId, Operand> done;
    if (s.isLeaf) return operand(s, s.end.a, done, e);
    return node(s, s.end, done, e);
  }

  Operand node(const Side& s, const Application& a, std::map<ClassId, Operand>& done, Equality& e) {
    Operand x = operand(s, a.a, done, e), y = a.b == kNoClass ? kNoOperand : operand(s, a.b, done, e);
    e.nodes.push_back({a.step, x, y});
    return static_cast<Operand>(e.nodes.size() - 1);
  }

  Operand operand(const Side& s, ClassId c, std::map<ClassId, Operand>& done, Equality& e) {
    if (auto it = done.find(c); it != done.end()) return it->second;
    bool cut = std::find(cuts_.begin(), cuts_.end(), c) != cuts_.end();
    if (!cut && !t_.isLeaf(c)) {
      auto at = std::find_if(s.nodes.begin(), s.nodes.end(), [&](const auto& n) { return n.first == c; });
      return done[c] = node(s, at->second, done, e);
    }
    auto [it, isNew] = variables_.emplace(c, e.variables.size());
    if (isNew) {
      TensorType type = t_.typeOf(c);
      type.joins = {};
      e.variables.push_back({type, cut ? Constant::kNone : t_.constants[c]});
    }
    return done[c] = variable(it->second);
  }

  const ClassTable& t_;
  Side sides_[2];
  Scratch& scratch_;
  std::vector<ClassId> cuts_;
  std::map<ClassId, size_t> variables_;
};

// --- Names that do not depend on names ---

uint64_t colorOf(const Step& s) {
  uint64_t h = mix(static_cast<uint64_t>(s.op.kind));
  h = mix(h ^ static_cast<uint64_t>(s.op.axis));
  h = mix(h ^ static_cast<uint64_t>(s.op.activation));
  h = mix(h ^ static_cast<uint64_t>(s.output));
  if (s.op.kind == OperatorKind::kAveragePool || s.op.kind == OperatorKind::kMaxPool) {
    for (int64_t k : s.op.kernel)
      h = mix(h ^ static_cast<uint64_t>(k));
  }
  return h;
}

class Canonical {
 public:
  Canonical(const Equality& e, const std::vector<Step>& steps) : e_(e), steps_(steps) {}

  uint64_t run() const {
    std::vector<uint64_t> colors;
    for (const Variable& v : e_.variables)
      colors.push_back(mix(static_cast<uint64_t>(v.type.rank) << 8 | static_cast<uint64_t>(v.constant)));
    return least(colors);
  }

 private:
  /// Of both sides together, which may be exchanged.
  uint64_t hash(const std::vector<uint64_t>& colors) const {
    std::vector<uint64_t> nodes;
    auto of = [&](Operand o) { return o < 0 ? colors[variableOf(o)] : nodes[static_cast<size_t>(o)]; };
    for (const EqualityNode& n : e_.nodes) {
      uint64_t x = of(n.a), y = n.b == kNoOperand ? 0 : of(n.b), h = colorOf(steps_[n.step]);
      if (steps_[n.step].commutative && y < x) std::swap(x, y);
      nodes.push_back(mix(mix(h ^ x) ^ y));
    }
    uint64_t a = of(e_.left), b = of(e_.right);
    return mix(mix(std::min(a, b)) ^ std::max(a, b));
  }

  /// Refines the colors until all variables differ; where they are alike, each of them is tried as the first.
  uint64_t least(std::vector<uint64_t> colors) const {
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t v = 0; v < colors.size(); ++v) {
      auto marked = colors;
      marked[v] = mix(~marked[v]);
      order.emplace_back(hash(marked) ^ mix(colors[v]), v);
    }
    std::sort(order.begin(), order.end());
    for (size_t v = 0; v < colors.size(); ++v)
      colors[order[v].second] = order[v].first;
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      if (order[i].first != order[i + 1].first) continue;
      uint64_t best = std::numeric_limits<uint64_t>::max();
      for (size_t j = i; j < order.size() && order[j].first == order[i].first; ++j) {
        auto chosen = colors;
        chosen[order[j].second] = mix(chosen[order[j].second] + 1);
        best = std::min(best, least(std::move(chosen)));
      }
      return best;
    }
    return hash(colors);
  }

  const Equality& e_;
  const std::vector<Step>& steps_;
};

std::string nameOf(const Step& s) {
  std::string name(operatorName(s.op.kind));
  if (s.op.kind == OperatorKind::kConcat || s.op.kind == OperatorKind::kSplit) name += std::to_string(s.op.axis);
  if (s.op.kind == OperatorKind::kSplit) name += s.output == 0 ? "a" : "b";
  return s.op.activation == Activation::kNone ? name : name + std::string(activationName(s.op.activation));
}

}  // namespace

Equality equalityOf(const ClassTable& table, const Candidate& left, const Candidate& right, Scratch& scratch) {
  return Generalisation(table, left, right, scratch).run();
}

uint64_t canonicalKey(const Equality& e, const std::vector<Step>& steps) {
  return Canonical(e, steps).run();
}

size_t sizeOf(const Equality& e, Operand side) {
  std::vector<bool> used(e.nodes.size());
  size_t count = 0;
  if (side >= 0) used[static_cast<size_t>(side)] = true;
  for (size_t i = used.size(); i-- > 0;) {
    if (!used[i]) continue;
    ++count;
    for (Operand o : {e.nodes[i].a, e.nodes[i].b}) {
      if (o >= 0 && o != kNoOperand) used[static_cast<size_t>(o)] = true;
    }
  }
  return count;
}

std::string str(const Equality& e, const std::vector<Step>& steps) {
  auto text = [&](Operand o, const auto& self) -> std::string {
    if (o < 0) {
      const Variable& v = e.variables[variableOf(o)];
      if (v.constant != Constant::kNone) return std::string(constantName(v.constant));
      return fmt::format("{}{}",
                         v.type.rank == 0   ? "s"
                         : v.type.rank == 2 ? "m"
                         : v.type.weight    ? "k"
                                            : "x",
                         variableOf(o));
    }
    const EqualityNode& n = e.nodes[static_cast<size_t>(o)];
    std::string operands = self(n.a, self);
    if (n.b != kNoOperand) operands += ", " + self(n.b, self);
    return fmt::format("{}({})", nameOf(steps[n.step]), operands);
  };
  return text(e.left, text) + " = " + text(e.right, text);
}

}  // namespace pet::freemode
