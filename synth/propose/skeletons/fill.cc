#include "synth/propose/skeletons/fill.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/denote.h"
#include "synth/poly/poly.h"
#include "synth/propose/skeletons/closed_form.h"
#include "synth/propose/skeletons/joins.h"

namespace pet {
namespace {

/// isl operations that the vote of one skeleton may take.
constexpr unsigned long kBudget = 2'000'000;
/// Cases of the bounds that are looked at.
constexpr size_t kMostChoices = 8;

using NotFilled = tl::unexpected<std::string>;

Expr named(const char* stem, size_t i) {
  return Expr::variable(fmt::format("{}'{}", stem, i));
}
std::vector<std::string> names(const char* stem, size_t n) {
  std::vector<std::string> result;
  for (size_t i = 0; i < n; ++i)
    result.push_back(*named(stem, i).asVariable());
  return result;
}

/// What one piece of the pattern says about a hole: at slot `s'…` belong the products of these weights at `w'…`.
struct Vote {
  Rational coefficient;
  std::vector<const Factor*> weights;
  poly::Map slots;
};

/// Where the bounds of a hole's taps are single expressions.
struct Case {
  std::map<std::string, Expr> bounds;  ///< of the symbols in HoleTaps
  std::vector<Constraint> when;
};

class Filler {
 public:
  Filler(const Pattern& pattern, const Skeleton& skeleton) : pattern_(pattern), skeleton_(skeleton) {}

  tl::expected<std::vector<Filled>, std::string> run() {
    NameSource names;
    for (size_t o = 0; o < pattern_.program.outputs().size(); ++o) {
      auto p = denote(pattern_.program, pattern_.program.outputs()[o], names);
      if (!p) return NotFilled(p.error().what);
      auto s = denote(skeleton_.program, skeleton_.program.outputs()[o], names);
      if (!s) return NotFilled(s.error().what);
      if (!p->applications.empty() || !s->applications.empty()) return NotFilled("a function");
      sums_.emplace_back(std::move(*p), std::move(*s));
    }
    for (size_t h = 0; h < skeleton_.holes.size(); ++h) {
      if (!hasVoters(h)) return NotFilled("no weight belongs into " + skeleton_.holes[h].name);
    }
    dropEmptyPieces();
    std::vector<Case> cases{{}};
    for (size_t h = 0; h < skeleton_.holes.size(); ++h) {
      auto bounds = boundsOf(h);
      if (!bounds) return NotFilled(bounds.error());
      std::vector<Case> product;
      for (const Case& a : cases) {
        for (const Case& b : *bounds) {
          product.push_back(a);
          product.back().bounds.insert(b.bounds.begin(), b.bounds.end());
          product.back().when.insert(product.back().when.end(), b.when.begin(), b.when.end());
        }
      }
      cases = std::move(product);
      if (cases.size() > kMostChoices) cases.resize(kMostChoices);
    }
    std::vector<Filled> result;
    std::string why;
    for (const Case& c : cases) {
      auto filled = fill(c);
      if (filled)
        result.push_back(std::move(*filled));
      else
        why = filled.error();
    }
    if (result.empty()) return NotFilled(why);
    return result;
  }

 private:
  // --- The join ---

  size_t holeNumber(size_t h) const { return pattern_.program.inputs().size() + h; }
  const Shape& shapeOf(size_t h) const {
    return skeleton_.program.shape(*skeleton_.program.find(skeleton_.holes[h].name));
  }
  static size_t digitCount(const Shape& shape) {
    size_t n = 0;
    for (const Dim& d : shape)
      n += d.atoms().size();
    return n;
  }

  const Factor* holeOf(const Piece& m, size_t h) const {
    auto isHole = [&](const Factor& f) {
      return f.kind == Factor::Kind::kInput && static_cast<size_t>(f.number) == holeNumber(h);
    };
    auto hole = std::find_if(m.factors.begin(), m.factors.end(), isHole);
    return hole == m.factors.end() ? nullptr : &*hole;
  }

  /// Some piece of the pattern reads what an operator with this hole does.
  bool hasVoters(size_t h) const {
    for (const auto& [pattern, skeleton] : sums_) {
      for (const Piece& m : skeleton.pieces) {
        const Factor* hole = holeOf(m, h);
        auto joins = [&](const Piece& p) { return !joinsOf(pattern_.program, p, m, hole).empty(); };
        if (hole && std::any_of(pattern.pieces.begin(), pattern.pieces.end(), joins)) return true;
      }
    }
    return false;
  }

  /// Where values are joined, an output reads one of them: most combinations of cases are empty.
  void dropEmptyPieces() {
    poly::Context context(pattern_.shapes, kBudget);
    for (auto& sums : sums_) {
      Sum& skeleton = sums.second;
      if (skeleton.pieces.size() == 1) continue;
      std::erase_if(skeleton.pieces, [&](const Piece& m) {
        std::vector<std::string> variables = openSymbols();
        variables.insert(variables.end(), skeleton.index.begin(), skeleton.index.end());
        variables.insert(variables.end(), m.reduction.begin(), m.reduction.end());
        return context.set(variables, m.domain).isEmpty();
      });
    }
  }

  /// The symbols that the bounds of windows stand for until they are known.
  std::vector<std::string> openSymbols() const {
    std::vector<std::string> symbols;
    for (const Hole& hole : skeleton_.holes) {
      for (const HoleTaps& t : hole.taps)
        symbols.insert(symbols.end(), {t.begin, t.extent});
    }
    return symbols;
  }

  /// The digits of the hole that m reads. Before the bounds are known, a window's digit counts from the operator's
  /// position: dilation · tap - pad.
  std::vector<Constraint> slotOf(const Factor& hole, size_t h, bool open) const {
    std::vector<Expr> at = hole.at;
    if (open) {
      for (const HoleTaps& t : skeleton_.holes[h].taps) {
        size_t digit = digitCount({shapeOf(h).begin(), shapeOf(h).begin() + t.dim});
        at[digit] = at[digit] * t.dilation - Expr::variable(t.begin);
      }
    }
    std::vector<Constraint> result;
    for (size_t i = 0; i < at.size(); ++i)
      result.push_back(Constraint::eq(named("s", i), at[i]));
    return result;
  }

  /// What output o's piece p says about hole h. `bounds` is null before the bounds are known.
  void addVotes(const poly::Context& context,
                size_t o,
                const Piece& p,
                size_t h,
                const std::map<std::string, Expr>* bounds,
                std::vector<Vote>& votes) {
    const auto& [pattern, skeleton] = sums_[o];
    std::optional<Vote> vote;
    for (const Piece& m : skeleton.pieces) {
      const Factor* hole = holeOf(m, h);
      if (!hole || m.coefficient.numerator == 0 || atBorders_.contains({&p, &m})) continue;
      Rational ratio = p.coefficient * Rational{m.coefficient.denominator, 1} * Rational{1, m.coefficient.numerator};
      for (Join& join : joinsOf(pattern_.program, p, m, hole)) {
        if (vote && (vote->weights != join.weights || !(vote->coefficient == ratio))) continue;
        poly::Map slots = slotsOf(context, pattern, p, m, *hole, h, join, bounds);
        if (slots.isEmpty()) continue;
        if (!bounds && isUnbounded(slots, h)) {
          atBorders_.insert({&p, &m});
          continue;
        }
        if (vote)
          vote->slots = vote->slots.unite(slots);
        else
          vote = Vote{ratio, join.weights, std::move(slots)};
      }
    }
    if (vote) votes.push_back(std::move(*vote));
  }

  /// True of a bound on the positions along which a window slides: the vote is taken as if the image had no end.
  bool isBorder(const Sum& sum, const Constraint& c, const Factor& hole) const {
    if (c.kind != Constraint::Kind::kNonNegative) return false;
    return std::any_of(sum.index.begin() + slidingFrom(), sum.index.end(), [&](const std::string& v) {
      return c.expr.mentions(v) &&
             std::none_of(hole.at.begin(), hole.at.end(), [&](const Expr& e) { return e.mentions(v); });
    });
  }
  /// The first digit of a position in an image's row; none where the outputs are no images.
  std::ptrdiff_t slidingFrom() const {
    const Shape& y = outputShape();
    bool slides = y.size() > 3 || (y.size() == 3 && !skeleton_.holes[0].taps.empty());
    return static_cast<std::ptrdiff_t>(digitCount(slides ? Shape{y[0], y[1]} : y));
  }
  const Shape& outputShape() const { return pattern_.program.shape(pattern_.program.outputs()[0]); }

  poly::Map slotsOf(const poly::Context& context,
                    const Sum& sum,
                    const Piece& p,
                    const Piece& m,
                    const Factor& hole,
                    size_t h,
                    const Join& join,
                    const std::map<std::string, Expr>* bounds) const {
    poly::Conjunction all = join.equal;
    for (const Piece* piece : {&p, &m}) {
      std::copy_if(piece->domain.begin(), piece->domain.end(), std::back_inserter(all),
                   [&](const Constraint& c) { return !isBorder(sum, c, hole); });
    }
    for (const Constraint& c : slotOf(hole, h, !bounds))
      all.push_back(c);
    size_t digits = 0;
    for (const Factor* w : join.weights) {
      for (const Expr& e : w->at)
        all.push_back(Constraint::eq(named("w", digits++), e));
    }
    std::vector<std::string> exists = sum.index;
    exists.insert(exists.end(), p.reduction.begin(), p.reduction.end());
    exists.insert(exists.end(), m.reduction.begin(), m.reduction.end());
    if (bounds) {
      for (Constraint& c : all)
        c = c.substitute(*bounds);
    } else {
      const auto open = openSymbols();
      exists.insert(exists.end(), open.begin(), open.end());
    }
    return context.map(names("s", hole.at.size()), names("w", digits), all, exists);
  }

  /// Two votes for different slots that read the same weights are one.
  static bool joins(const Vote& a, const Vote& b) {
    auto sameWeight = [](const Factor* x, const Factor* y) { return x->number == y->number; };
    return a.coefficient == b.coefficient &&
           std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), b.weights.end(), sameWeight) &&
           a.slots.domain().intersect(b.slots.domain()).isEmpty();
  }

  /// All votes for a hole. A slot that several outputs use has its weights from the first.
  std::vector<Vote> votesFor(const poly::Context& context, size_t h, const std::map<std::string, Expr>* bounds) {
    std::vector<Vote> votes;
    poly::Set used = context.emptySet(static_cast<int>(digitCount(shapeOf(h))));
    for (size_t o = 0; o < sums_.size(); ++o) {
      std::vector<Vote> own;
      for (const Piece& p : sums_[o].first.pieces)
        addVotes(context, o, p, h, bounds, own);
      poly::Set now = used;
      for (Vote& v : own) {
        poly::Set slots = v.slots.domain();
        now = now.unite(slots);
        poly::Set fresh = slots.subtract(used);
        if (fresh.isEmpty()) continue;
        v.slots = v.slots.intersectDomain(fresh);
        auto same = std::find_if(votes.begin(), votes.end(), [&](const Vote& other) { return joins(other, v); });
        if (same == votes.end())
          votes.push_back(std::move(v));
        else
          same->slots = same->slots.unite(v.slots);
      }
      used = std::move(now);
    }
    return votes;
  }

  // --- Bounds of windows ---

  int tapDigit(size_t h, const HoleTaps& taps) const {
    return static_cast<int>(digitCount({shapeOf(h).begin(), shapeOf(h).begin() + taps.dim}));
  }

  /// A pair of pieces that reads at every distance from the window speaks of a border (a mirrored one).
  bool isUnbounded(const poly::Map& relation, size_t h) const {
    poly::Set slots = relation.domain();
    return std::any_of(skeleton_.holes[h].taps.begin(), skeleton_.holes[h].taps.end(), [&](const HoleTaps& t) {
      return slots.minima(tapDigit(h, t)).empty() || slots.maxima(tapDigit(h, t)).empty();
    });
  }

  tl::expected<std::vector<Case>, std::string> boundsOf(size_t h) {
    const Hole& hole = skeleton_.holes[h];
    std::vector<Case> cases{{}};
    if (hole.taps.empty()) return cases;
    poly::Context context(pattern_.shapes, kBudget);
    auto votes = votesFor(context, h, nullptr);
    if (votes.empty()) return NotFilled("no weight belongs into " + hole.name);
    for (size_t t = 0; t < hole.taps.size(); ++t) {
      const HoleTaps& taps = hole.taps[t];
      int digit = tapDigit(h, taps);
      poly::Set offsets = context.emptySet(1);
      for (const Vote& v : votes)
        offsets = offsets.unite(v.slots.domain().onto(digit));
      auto least = offsets.minima(0), greatest = offsets.maxima(0);
      if (least.empty() || greatest.empty()) return NotFilled("a window without bounds");
      std::vector<Case> next;
      for (const Case& c : cases) {
        for (const auto& l : least) {
          for (const auto& g : greatest) {
            if (next.size() == kMostChoices) break;
            Case both = c;
            both.bounds[taps.begin] = -l.value;
            both.bounds[taps.extent] = floorDiv(g.value - l.value, taps.dilation) + 1;
            both.when.insert(both.when.end(), l.when.begin(), l.when.end());
            both.when.insert(both.when.end(), g.when.begin(), g.when.end());
            if (!context.excludes(both.when)) next.push_back(std::move(both));
          }
        }
      }
      cases = std::move(next);
    }
    return cases;
  }

  // --- Weights ---

  tl::expected<Filled, std::string> fill(const Case& c) {
    ShapeClass shapes = pattern_.shapes;
    for (const Constraint& w : c.when)
      shapes.require(w);
    std::map<std::string, WeightSum> weights;
    for (size_t h = 0; h < skeleton_.holes.size(); ++h) {
      auto sum = weightsOf(shapes, h, c.bounds);
      if (!sum) return NotFilled(sum.error());
      weights.emplace(skeleton_.holes[h].name, std::move(*sum));
    }
    auto bound = skeleton_.program.substitute(c.bounds);
    if (!bound) return NotFilled(bound.error().what);
    auto program = replaceHoles(*bound, weights);
    if (!program) return NotFilled(program.error().what);
    for (const Constraint& o : obligations(*program)) {
      if (o.decided() == false) return NotFilled("never " + o.str());
      shapes.require(o);
    }
    if (poly::Context(shapes).set({}, {}).isEmpty()) return NotFilled("no shape satisfies the obligations");
    return Filled{std::move(shapes), std::move(*program)};
  }

  static Expected<Program> replaceHoles(const Program& program, const std::map<std::string, WeightSum>& weights) {
    ProgramBuilder b;
    std::map<Value, Value> moved;
    for (Value v : program.inputs()) {
      if (!weights.contains(program.name(v)))
        moved[v] = b.input(program.name(v), program.shape(v), isConstant(program, v));
    }
    for (size_t i = 0; i < program.nodes().size(); ++i) {
      const Node& n = program.nodes()[i];
      Value v{static_cast<int>(i), 0};
      if (n.is(ops::kInput)) {
        auto hole = weights.find(n.names[0]);
        if (hole == weights.end()) continue;
        auto value = emitWeights(b, hole->second);
        if (!value) return tl::unexpected(value.error());
        moved[v] = *value;
        continue;
      }
      std::vector<Value> operands;
      for (Value o : n.operands)
        operands.push_back(moved.at(o));
      auto made = b.add(*n.op, std::move(operands), n.attributes);
      if (!made) return tl::unexpected(made.error());
      for (size_t o = 0; o < n.shapes.size(); ++o)
        moved[{v.node, static_cast<int>(o)}] = {made->node, static_cast<int>(o)};
    }
    std::vector<Value> outputs;
    for (Value v : program.outputs())
      outputs.push_back(moved.at(v));
    return std::move(b).finish(std::move(outputs)).withoutDeadNodes();
  }

  tl::expected<WeightSum, std::string> weightsOf(const ShapeClass& shapes,
                                                 size_t h,
                                                 const std::map<std::string, Expr>& bounds) {
    poly::Context context(shapes, kBudget);
    auto votes = votesFor(context, h, &bounds);
    if (votes.empty()) return NotFilled("no weight belongs into " + skeleton_.holes[h].name);
    WeightSum sum;
    static constexpr const char* kLetters[] = {"f", "c", "r", "s", "q"};
    Shape shape = substitute(shapeOf(h), bounds);
    std::vector<LayoutAxis> axes;
    for (size_t d = 0; d < shape.size(); ++d) {
      sum.dims.emplace_back();
      size_t n = shape[d].atoms().size();
      for (size_t a = 0; a < n; ++a) {
        std::string name = kLetters[std::min<size_t>(d, 4)];
        if (n > 1) name += std::to_string(a);
        axes.push_back({std::move(name), Dim(shape[d].atoms()[a])});
        sum.dims.back().push_back(axes.back());
      }
    }
    for (const Vote& v : votes) {
      auto terms = closedForm(context, axes, v.slots, v.coefficient, digitsOf(v.weights));
      if (!terms) return NotFilled(terms.error());
      sum.terms.insert(sum.terms.end(), terms->begin(), terms->end());
    }
    return sum;
  }

  std::vector<WeightDigits> digitsOf(const std::vector<const Factor*>& weights) const {
    std::vector<WeightDigits> result;
    for (const Factor* w : weights) {
      Value input = pattern_.program.inputs()[static_cast<size_t>(w->number)];
      result.push_back({pattern_.program.name(input), {}});
      for (const Dim& d : pattern_.program.shape(input))
        result.back().extents.insert(result.back().extents.end(), d.atoms().begin(), d.atoms().end());
    }
    return result;
  }

  const Pattern& pattern_;
  const Skeleton& skeleton_;
  std::vector<std::pair<Denotation, Denotation>> sums_;        ///< per output: the pattern's, the skeleton's
  std::set<std::pair<const Piece*, const Piece*>> atBorders_;  ///< pairs that do not vote
};

}  // namespace

tl::expected<std::vector<Filled>, std::string> fillHoles(const Pattern& pattern, const Skeleton& skeleton) {
  return Filler(pattern, skeleton).run();
}

}  // namespace pet
