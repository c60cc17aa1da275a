#include "synth/prove/pairing_groups.h"

#include <algorithm>
#include <set>

#include "synth/prove/axis_groups.h"
#include "synth/prove/group_sets.h"
#include "synth/prove/index_names.h"

namespace pet {
namespace {

using poly::Conjunction;

/// Of a piece, beyond which it is compared as a whole.
constexpr size_t kMostCells = 4096;

using Product = std::vector<GroupSets::Id>;  ///< one set a group

/// A piece of a sum, by groups; the last one is that of the symbols.
struct Part {
  int number;
  const Piece* piece;
  Conjunction domain;                               ///< separated
  std::vector<Conjunction> constraints;             ///< of each group
  std::vector<std::vector<std::string>> variables;  ///< of each group: of the index, then of the reduction
  Product points;
  std::vector<std::vector<GroupSets::Id>> classes;  ///< of each group: what has partners, disjoint
  std::set<std::vector<size_t>> paired;             ///< by the number of the class in each group
};

/// Two pieces whose factors can be equal.
struct Partners {
  size_t from, to;
  Conjunction equal;  ///< the factors' digits, over the common index and both reductions
};

std::vector<std::string> reductionsOf(const Sum& sum) {
  std::vector<std::string> all;
  for (const Piece& p : sum.pieces)
    all.insert(all.end(), p.reduction.begin(), p.reduction.end());
  return all;
}

std::string primed(const std::string& name) {
  return name + "'";
}

class Grouped {
 public:
  Grouped(const poly::Context& context, const Sum& pattern, const Sum& replacement)
      : index_(pattern.index),
        context_(context),
        single_(join(pattern.index, join(reductionsOf(pattern), reductionsOf(replacement)))),
        groups_(single_),
        sets_(context),
        from_(partsOf(pattern)),
        to_(partsOf(replacement)) {}

  std::optional<Bijection> run() {
    if (!pairUp() || groups_.count() < 2) return std::nullopt;
    for (auto* side : {&from_, &to_}) {
      for (Part& p : *side)
        p = grouped(std::move(p));
    }
    for (const Partners& p : partners_) {
      if (!match(p)) return std::nullopt;
    }
    auto positions = bad();
    if (!positions) return std::nullopt;
    result_.bad = std::move(*positions);
    return std::move(result_);
  }

 private:
  /// The pieces without those of which a group of indices is empty at all shapes.
  std::vector<Part> partsOf(const Sum& sum) {
    std::vector<Part> parts;
    for (size_t i = 0; i < sum.pieces.size(); ++i) {
      const Piece& piece = sum.pieces[i];
      Part part{static_cast<int>(i), &piece, separated(piece.domain, single_), {}, {}, {}, {}, {}};
      std::vector<std::string> variables = join(sum.index, piece.reduction);
      AxisGroups own(variables);
      for (const Constraint& c : part.domain)
        own.link(c.expr);
      auto constraints = own.split(part.domain);
      bool empty = false;
      for (size_t g = 0; g < constraints.size() && !empty; ++g)
        empty = sets_.isEmpty(sets_.set(own.restrict(variables, g), constraints[g]));
      if (!empty) parts.push_back(std::move(part));
    }
    return parts;
  }

  /// Finds the pairs of pieces and the groups; false where factors can be equal in several orders.
  bool pairUp() {
    for (const auto* side : {&from_, &to_}) {
      for (const Part& p : *side) {
        for (const Constraint& c : p.domain)
          groups_.link(c.expr);
      }
    }
    for (size_t i = 0; i < from_.size(); ++i) {
      for (size_t j = 0; j < to_.size(); ++j) {
        const Piece &a = *from_[i].piece, &b = *to_[j].piece;
        if (!(a.coefficient == b.coefficient)) continue;
        auto possible = orders(a, b);
        if (possible.size() > 1) return false;
        if (possible.empty()) continue;
        Conjunction equal = equalFactors(a, b, possible[0]);
        if (std::any_of(equal.begin(), equal.end(), [](auto& c) { return c.decided() == false; })) continue;
        for (const Constraint& c : equal)
          groups_.link(c.expr);
        partners_.push_back({i, j, std::move(equal)});
      }
    }
    return true;
  }

  Conjunction equalFactors(const Piece& a, const Piece& b, const std::vector<size_t>& order) const {
    Conjunction equal;
    for (size_t f = 0; f < a.factors.size(); ++f) {
      const Factor &fa = a.factors[f], &fb = b.factors[order[f]];
      for (size_t d = 0; d < fa.at.size(); ++d)
        equal.push_back(Constraint::eq(fa.at[d], fb.at[d]));
      for (size_t p = 0; p < fa.parameters.size(); ++p)
        equal.push_back(Constraint::eq(fa.parameters[p], fb.parameters[p]));
    }
    return separated(equal, single_);
  }

  Part grouped(Part p) {
    p.constraints = groups_.split(p.domain);
    for (size_t g = 0; g < p.constraints.size(); ++g) {
      p.variables.push_back(groups_.restrict(join(index_, p.piece->reduction), g));
      p.points.push_back(sets_.set(p.variables[g], p.constraints[g]));
    }
    p.classes.resize(p.points.size());
    return p;
  }

  /// ((v, ρ), (v', ρ')) of equal monomials, v = v', by groups.
  Product relation(const Partners& p) {
    const Part &a = from_[p.from], &b = to_[p.to];
    auto equal = groups_.split(p.equal);
    Product result;
    for (size_t g = 0; g < equal.size(); ++g) {
      std::vector<std::string> variables = a.variables[g];
      Conjunction all = a.constraints[g];
      all.insert(all.end(), b.constraints[g].begin(), b.constraints[g].end());
      all.insert(all.end(), equal[g].begin(), equal[g].end());
      for (const std::string& v : groups_.restrict(index_, g)) {
        variables.push_back(primed(v));
        all.push_back(Constraint::eq(Expr::variable(v), Expr::variable(primed(v))));
      }
      variables = join(variables, groups_.restrict(b.piece->reduction, g));
      result.push_back(sets_.relation(variables, all, count(a.variables[g])));
    }
    return result;
  }

  template <class F>
  static Product each(const Product& product, F f) {
    Product result;
    for (GroupSets::Id id : product)
      result.push_back(f(id));
    return result;
  }

  /// The number of the class in each group; nullopt if one overlaps with another class.
  std::optional<std::vector<size_t>> cell(Part& part, const Product& product) {
    std::vector<size_t> result;
    for (size_t g = 0; g < product.size(); ++g) {
      auto& classes = part.classes[g];
      size_t c = 0;
      while (c < classes.size() && !sets_.isEqual(classes[c], product[g])) {
        if (!sets_.isDisjoint(classes[c++], product[g])) return std::nullopt;
      }
      if (c == classes.size()) classes.push_back(product[g]);
      result.push_back(c);
    }
    return result;
  }

  /// Pairs the two pieces where neither has a partner; false where that is no question of groups.
  bool match(const Partners& p) {
    Part &a = from_[p.from], &b = to_[p.to];
    const Product whole = relation(p), domain = each(whole, [&](auto id) { return sets_.domain(id); });
    if (sets_.isEmpty(domain)) return true;
    if (!std::all_of(whole.begin(), whole.end(), [&](auto id) { return sets_.isBijection(id); })) return false;
    auto from = cell(a, domain), to = cell(b, each(whole, [&](auto id) { return sets_.range(id); }));
    if (!from || !to) return false;
    if (a.paired.contains(*from) || b.paired.contains(*to)) return true;
    a.paired.insert(*from);
    b.paired.insert(*to);
    record(result_.forward, whole, a, b, false);
    record(result_.backward, whole, b, a, true);
    return true;
  }

  /// The product of the groups' functions.
  void record(std::vector<ProofMap>& into, const Product& relation, const Part& from, const Part& to, bool reversed) {
    std::vector<std::pair<Conjunction, std::map<std::string, Expr>>> maps{{}};
    for (size_t g = 0; g < relation.size(); ++g) {
      decltype(maps) longer;
      const auto& pieces = sets_.function(relation[g], reversed, from.variables[g], from.points[g]);
      for (const auto& [when, image] : maps) {
        for (const poly::FunctionPiece& piece : pieces) {
          longer.emplace_back(when, image);
          longer.back().first.insert(longer.back().first.end(), piece.when.begin(), piece.when.end());
          for (size_t v = 0; v < piece.image.size(); ++v)
            longer.back().second.emplace(to.variables[g][v], piece.image[v]);
        }
      }
      maps = std::move(longer);
    }
    std::vector<ProofMap> all;
    for (auto& [when, image] : maps) {
      std::vector<Expr> reduction;
      for (const std::string& r : to.piece->reduction)
        reduction.push_back(image.at(r));
      std::sort(when.begin(), when.end());
      when.erase(std::unique(when.begin(), when.end()), when.end());  // several groups may say the same of the symbols
      all.push_back({from.number, to.number, std::move(reduction), std::move(when)});
    }
    std::sort(all.begin(), all.end(),
              [](const auto& x, const auto& y) { return std::tie(x.when, x.image) < std::tie(y.when, y.image); });
    into.insert(into.end(), all.begin(), all.end());
  }

  /// The positions of all points without a partner: those of the products of classes, and of what is in no class, that
  /// are not paired.
  std::optional<poly::Set> bad() {
    poly::Set all = context_.emptySet(count(index_));
    for (auto* side : {&from_, &to_}) {
      for (Part& part : *side) {
        for (size_t g = 0; g < part.points.size(); ++g) {
          GroupSets::Id rest = sets_.without(part.points[g], part.classes[g]);
          if (!sets_.isEmpty(rest)) part.classes[g].push_back(rest);
        }
        auto cells = cellsOf(part);
        if (!cells) return std::nullopt;
        for (const auto& cell : *cells) {
          if (part.paired.contains(cell)) continue;
          Product product;
          for (size_t g = 0; g < cell.size(); ++g)
            product.push_back(part.classes[g][cell[g]]);
          if (!sets_.isEmpty(product)) all = all.unite(positions(product));
        }
      }
    }
    return all;
  }

  /// One class of each group, in all ways; nullopt if they are many.
  static std::optional<std::vector<std::vector<size_t>>> cellsOf(const Part& part) {
    std::vector<std::vector<size_t>> cells{{}};
    for (const auto& classes : part.classes) {
      std::vector<std::vector<size_t>> longer;
      for (const auto& cell : cells) {
        for (size_t c = 0; c < classes.size(); ++c) {
          longer.push_back(cell);
          longer.back().push_back(c);
        }
      }
      if (longer.size() > kMostCells) return std::nullopt;
      cells = std::move(longer);
    }
    return cells;
  }

  poly::Set positions(const Product& product) {
    poly::Set all = context_.set(index_, {});
    for (size_t g = 0; g < product.size(); ++g) {
      auto index = groups_.restrict(index_, g);
      all = all.intersect(context_.pullBack(sets_.at(product[g]).firstVariables(count(index)), index_, asExprs(index)));
    }
    return all;
  }

  const std::vector<std::string>& index_;
  const poly::Context& context_;
  AxisGroups single_;  ///< every index is a group
  AxisGroups groups_;
  GroupSets sets_;
  std::vector<Part> from_, to_;
  std::vector<Partners> partners_;
  Bijection result_{context_.emptySet(count(index_)), {}, {}};
};

}  // namespace

std::optional<Bijection> bijectionByGroups(const poly::Context& context, const Sum& pattern, const Sum& replacement) {
  if (pattern.index != replacement.index) return std::nullopt;
  std::vector<std::string> ours = reductionsOf(pattern), theirs = reductionsOf(replacement);
  auto isOurs = [&](const std::string& name) { return std::find(ours.begin(), ours.end(), name) != ours.end(); };
  if (std::any_of(theirs.begin(), theirs.end(), isOurs)) return std::nullopt;
  for (const Sum* sum : {&pattern, &replacement}) {
    for (const Piece& piece : sum->pieces) {
      for (const Factor& f : piece.factors) {
        if (f.kind == Factor::Kind::kApplication) return std::nullopt;
      }
    }
  }
  try {
    return Grouped(context, pattern, replacement).run();
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace pet
