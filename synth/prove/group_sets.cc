#include "synth/prove/group_sets.h"

#include <algorithm>

namespace pet {

GroupSets::GroupSets(const poly::Context& context) : context_(context) {}

GroupSets::Id GroupSets::add(poly::Set set) {
  sets_.push_back(std::move(set));
  return sets_.size() - 1;
}

GroupSets::Id GroupSets::add(poly::Map map) {
  relations_.push_back({std::move(map), {}, {}, {}});
  return relations_.size() - 1;
}

// --- Sets ---

GroupSets::Id GroupSets::set(const std::vector<std::string>& variables, const poly::Conjunction& constraints) {
  auto key = std::pair(variables, constraints);
  auto known = setOf_.find(key);
  if (known != setOf_.end()) return known->second;
  return setOf_.emplace(std::move(key), add(context_.set(variables, constraints))).first->second;
}

bool GroupSets::isEmpty(Id id) {
  auto known = empty_.find(id);
  if (known != empty_.end()) return known->second;
  return empty_.emplace(id, at(id).isEmpty()).first->second;
}

bool GroupSets::isEqual(Id a, Id b) {
  if (a == b) return true;
  auto known = equal_.find({a, b});
  if (known != equal_.end()) return known->second;
  bool equal = !isDisjoint(a, b) && at(a).isSubset(at(b)) && at(b).isSubset(at(a));
  return equal_.emplace(std::pair(a, b), equal).first->second;
}

bool GroupSets::isDisjoint(Id a, Id b) {
  auto known = disjoint_.find({a, b});
  if (known != disjoint_.end()) return known->second;
  return disjoint_.emplace(std::pair(a, b), at(a).isDisjoint(at(b))).first->second;
}

GroupSets::Id GroupSets::without(Id from, const std::vector<Id>& parts) {
  auto key = std::pair(from, parts);
  auto known = without_.find(key);
  if (known != without_.end()) return known->second;
  poly::Set rest = at(from);
  for (Id part : parts)
    rest = rest.subtract(at(part).within(at(from)));
  return without_.emplace(std::move(key), add(std::move(rest))).first->second;
}

const poly::Set& GroupSets::shapes(Id id) {
  auto known = shapes_.find(id);
  if (known != shapes_.end()) return known->second;
  return shapes_.emplace(id, at(id).firstVariables(0)).first->second;
}

bool GroupSets::isEmpty(const std::vector<Id>& product) {
  if (std::any_of(product.begin(), product.end(), [&](Id id) { return isEmpty(id); })) return true;
  poly::Set common = context_.set({}, {});
  for (Id id : product)
    common = common.intersect(shapes(id));
  return common.isEmpty();
}

// --- Relations ---

GroupSets::Id GroupSets::relation(const std::vector<std::string>& variables,
                                  const poly::Conjunction& constraints,
                                  int from) {
  auto key = std::tuple(variables, constraints, from);
  auto known = relationOf_.find(key);
  if (known != relationOf_.end()) return known->second;
  return relationOf_.emplace(std::move(key), add(context_.set(variables, constraints).asMap(from))).first->second;
}

GroupSets::Id GroupSets::domain(Id relation) {
  Relation& r = relations_[relation];
  if (!r.domain) r.domain = add(r.map.domain());
  return *r.domain;
}

GroupSets::Id GroupSets::range(Id relation) {
  Relation& r = relations_[relation];
  if (!r.range) r.range = add(r.map.range());
  return *r.range;
}

bool GroupSets::isBijection(Id relation) {
  Relation& r = relations_[relation];
  if (!r.bijection) r.bijection = r.map.isSingleValued() && r.map.isInjective();
  return *r.bijection;
}

const std::vector<poly::FunctionPiece>& GroupSets::function(Id relation,
                                                            bool reversed,
                                                            const std::vector<std::string>& names,
                                                            Id known) {
  auto key = std::tuple(relation, reversed, names, known);
  auto it = functions_.find(key);
  if (it != functions_.end()) return it->second;
  const poly::Map& map = relationAt(relation);
  return functions_.emplace(std::move(key), (reversed ? map.reversed() : map).function(names, at(known))).first->second;
}

}  // namespace pet
