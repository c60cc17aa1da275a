#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "synth/poly/poly.h"

// Sets and relations of single axis groups, of which whole ones are products: P = Π_g P_g at every shape.
namespace pet {

/// By number. Equal questions have equal numbers and are asked of isl once: the rows of four phases are the same rows
/// beside each phase of the columns.
class GroupSets {
 public:
  using Id = size_t;

  explicit GroupSets(const poly::Context& context);

  Id set(const std::vector<std::string>& variables, const poly::Conjunction& constraints);
  const poly::Set& at(Id id) const { return sets_[id]; }
  bool isEmpty(Id id);
  /// Of the product: at no shape all of the sets have a point. Exact: at each shape another one may be empty.
  bool isEmpty(const std::vector<Id>& product);
  bool isEqual(Id a, Id b);
  bool isDisjoint(Id a, Id b);
  /// `from` without `parts`, which are parts of it.
  Id without(Id from, const std::vector<Id>& parts);

  /// A relation between the first `from` variables and the others.
  Id relation(const std::vector<std::string>& variables, const poly::Conjunction& constraints, int from);
  const poly::Map& relationAt(Id id) const { return relations_[id].map; }
  Id domain(Id relation);
  Id range(Id relation);
  bool isBijection(Id relation);
  /// The relation, or its reverse, as a function; conditions that follow from `known` are left out.
  const std::vector<poly::FunctionPiece>& function(Id relation,
                                                   bool reversed,
                                                   const std::vector<std::string>& names,
                                                   Id known);

 private:
  struct Relation {
    poly::Map map;
    std::optional<Id> domain, range;
    std::optional<bool> bijection;
  };

  const poly::Set& shapes(Id id);
  Id add(poly::Set set);
  Id add(poly::Map map);

  const poly::Context& context_;
  std::deque<poly::Set> sets_;
  std::deque<Relation> relations_;
  std::map<std::pair<std::vector<std::string>, poly::Conjunction>, Id> setOf_;
  std::map<std::tuple<std::vector<std::string>, poly::Conjunction, int>, Id> relationOf_;
  std::map<Id, bool> empty_;
  std::map<Id, poly::Set> shapes_;
  std::map<std::pair<Id, Id>, bool> equal_, disjoint_;
  std::map<std::pair<Id, std::vector<Id>>, Id> without_;
  std::map<std::tuple<Id, bool, std::vector<std::string>, Id>, std::vector<poly::FunctionPiece>> functions_;
};

}  // namespace pet
