#include "synth/poly/poly.h"

#include <algorithm>
#include <map>

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

namespace pet::poly {
namespace {

/// isl answers null after an error; the only error our calls can meet is the operation budget.
template <class T>
T* checked(T* p) {
  if (!p) throw BudgetExceeded();
  return p;
}
bool truth(isl_bool b) {
  if (b == isl_bool_error) throw BudgetExceeded();
  return b == isl_bool_true;
}
std::shared_ptr<isl_set> own(isl_set* s) {
  return {checked(s), isl_set_free};
}
std::shared_ptr<isl_map> own(isl_map* m) {
  return {checked(m), isl_map_free};
}
isl_set* copy(const std::shared_ptr<isl_set>& s) {
  return isl_set_copy(s.get());
}
isl_map* copy(const std::shared_ptr<isl_map>& m) {
  return isl_map_copy(m.get());
}

int64_t toInteger(isl_val* v) {
  checked(v);
  bool fits = isl_val_n_abs_num_chunks(v, sizeof(int64_t)) <= 1 && isl_val_cmp_si(v, INT64_MAX) <= 0 &&
              isl_val_cmp_si(v, -INT64_MAX) >= 0;
  int64_t result = fits ? isl_val_get_num_si(v) : 0;
  isl_val_free(v);
  if (!fits) throw OverflowError();
  return result;
}

/// Where each name stands in a local space.
using Positions = std::map<std::string, std::pair<isl_dim_type, unsigned>, std::less<>>;

isl_aff* toAff(const Expr& e, isl_local_space* space, const Positions& positions) {
  isl_aff* sum = isl_aff_zero_on_domain(isl_local_space_copy(space));
  isl_ctx* ctx = isl_local_space_get_ctx(space);
  sum = isl_aff_add_constant_val(sum, isl_val_int_from_si(ctx, e.constant()));
  for (const auto& [term, c] : e.terms()) {
    isl_aff* t;
    if (term.division) {
      t = toAff(term.division->numerator, space, positions);
      t = isl_aff_floor(isl_aff_scale_down_val(t, isl_val_int_from_si(ctx, term.division->divisor)));
    } else {
      auto [type, position] = positions.at(term.name);
      t = isl_aff_var_on_domain(isl_local_space_copy(space), type, position);
    }
    sum = isl_aff_add(sum, isl_aff_scale_val(t, isl_val_int_from_si(ctx, c)));
  }
  return sum;
}

/// numerator/denominator with an integer value, as an expression; `names` are those of the set's variables.
Expr fromAff(isl_aff* aff, const std::vector<std::string>& names) {
  auto denominator = toInteger(isl_aff_get_denominator_val(aff));
  auto scaled = [&](isl_val* v) {  // coefficient · denominator, an integer
    v = isl_val_mul_ui(v, static_cast<unsigned long>(denominator));
    return toInteger(v);
  };
  Expr sum = scaled(isl_aff_get_constant_val(aff));
  isl_local_space* space = isl_aff_get_domain_local_space(aff);
  auto symbols = isl_aff_dim(aff, isl_dim_param);
  for (isl_size i = 0; i < symbols; ++i) {
    sum += Expr::variable(isl_local_space_get_dim_name(space, isl_dim_param, static_cast<unsigned>(i))) *
           scaled(isl_aff_get_coefficient_val(aff, isl_dim_param, i));
  }
  auto inputs = isl_aff_dim(aff, isl_dim_in);
  for (isl_size i = 0; i < inputs; ++i) {
    sum += Expr::variable(names[static_cast<size_t>(i)]) * scaled(isl_aff_get_coefficient_val(aff, isl_dim_in, i));
  }
  auto divisions = isl_aff_dim(aff, isl_dim_div);
  for (isl_size i = 0; i < divisions; ++i) {
    int64_t c = scaled(isl_aff_get_coefficient_val(aff, isl_dim_div, i));
    if (c == 0) continue;
    isl_aff* division = isl_aff_get_div(aff, i);
    sum += fromAff(division, names) * c;  // a division's own aff is floored by its denominator below
    isl_aff_free(division);
  }
  isl_local_space_free(space);
  return floorDiv(sum, denominator);
}

Constraint fromConstraint(isl_constraint* constraint, const std::vector<std::string>& names) {
  isl_aff* aff = isl_constraint_get_aff(constraint);
  bool equality = truth(isl_constraint_is_equality(constraint));
  Expr e = fromAff(aff, names);
  isl_aff_free(aff);
  return {e, equality ? Constraint::Kind::kZero : Constraint::Kind::kNonNegative};
}

Conjunction fromBasicSet(isl_basic_set* basic, const std::vector<std::string>& names) {
  std::vector<isl_constraint*> constraints;  // collected first: nothing may throw through isl's frames
  auto visit = [](isl_constraint* c, void* user) {
    static_cast<std::vector<isl_constraint*>*>(user)->push_back(c);
    return isl_stat_ok;
  };
  isl_stat ok = isl_basic_set_foreach_constraint(basic, visit, &constraints);
  isl_basic_set_free(basic);
  if (ok != isl_stat_ok) throw BudgetExceeded();
  Conjunction result;
  for (isl_constraint* c : constraints) {
    if (!isl_constraint_is_div_constraint(c)) result.push_back(fromConstraint(c, names));
    isl_constraint_free(c);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<isl_basic_set*> basicSets(isl_set* set) {
  set = checked(isl_set_compute_divs(set));
  std::vector<isl_basic_set*> pieces;
  auto visit = [](isl_basic_set* b, void* user) {
    static_cast<std::vector<isl_basic_set*>*>(user)->push_back(b);
    return isl_stat_ok;
  };
  auto ok = isl_set_foreach_basic_set(set, visit, &pieces);
  isl_set_free(set);
  if (ok != isl_stat_ok) throw BudgetExceeded();
  return pieces;
}

}  // namespace

// --- Context ---

Context::Context(const ShapeClass& shapes, unsigned long budget) : shapes_(shapes), ctx_(isl_ctx_alloc()) {
  isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
  if (budget) isl_ctx_set_max_operations(ctx_, budget);
}

Context::~Context() {
  isl_ctx_free(ctx_);
}

Set Context::set(const std::vector<std::string>& variables, const Conjunction& constraints) const {
  auto symbols = static_cast<unsigned>(shapes_.symbols.size());
  isl_space* space = isl_space_set_alloc(ctx_, symbols, static_cast<unsigned>(variables.size()));
  Positions positions;
  for (unsigned i = 0; i < symbols; ++i) {
    space = isl_space_set_dim_name(space, isl_dim_param, i, shapes_.symbols[i].c_str());
    positions[shapes_.symbols[i]] = {isl_dim_param, i};
  }
  for (unsigned i = 0; i < variables.size(); ++i)
    positions[variables[i]] = {isl_dim_set, i};
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space));
  // A basic set: isl_set_add_constraint would normalise the whole set again for each constraint.
  isl_basic_set* result = isl_basic_set_universe(space);
  for (const Conjunction* list : {&shapes_.constraints, &constraints}) {
    for (const Constraint& c : *list) {
      isl_aff* aff = toAff(c.expr, local, positions);
      isl_constraint* added =
          c.kind == Constraint::Kind::kZero ? isl_equality_from_aff(aff) : isl_inequality_from_aff(aff);
      result = isl_basic_set_add_constraint(result, added);
    }
  }
  isl_local_space_free(local);
  return Set(own(isl_set_from_basic_set(result)), this);
}

Map Context::map(const std::vector<std::string>& from,
                 const std::vector<std::string>& to,
                 const Conjunction& constraints,
                 const std::vector<std::string>& exists) const {
  std::vector<std::string> all = from;
  all.insert(all.end(), to.begin(), to.end());
  auto keep = static_cast<int>(all.size());
  all.insert(all.end(), exists.begin(), exists.end());
  isl_map* m = isl_map_from_range(copy(set(all, constraints).firstVariables(keep).set_));
  return Map(own(isl_map_move_dims(m, isl_dim_in, 0, isl_dim_out, 0, static_cast<unsigned>(from.size()))), this);
}

Set Context::emptySet(int variables) const {
  std::vector<std::string> names;
  for (int i = 0; i < variables; ++i)
    names.push_back("e" + std::to_string(i));
  return set(names, {{Expr(-1), Constraint::Kind::kNonNegative}});
}

bool Context::implies(const Constraint& c) const {
  if (c.decided()) return *c.decided();
  Constraint below{-c.expr - 1, Constraint::Kind::kNonNegative}, above{c.expr - 1, Constraint::Kind::kNonNegative};
  return excludes({below}) && (c.kind == Constraint::Kind::kNonNegative || excludes({above}));
}

bool Context::excludes(const Conjunction& constraints) const {
  return set({}, constraints).isEmpty();
}

// --- Set ---

bool Set::isEmpty() const {
  return truth(isl_set_is_empty(set_.get()));
}
bool Set::isSubset(const Set& o) const {
  return truth(isl_set_is_subset(set_.get(), o.set_.get()));
}
Set Set::unite(const Set& o) const {
  return Set(own(isl_set_union(copy(set_), copy(o.set_))), context_);
}
Set Set::intersect(const Set& o) const {
  return Set(own(isl_set_intersect(copy(set_), copy(o.set_))), context_);
}
Set Set::subtract(const Set& o) const {
  return Set(own(isl_set_subtract(copy(set_), copy(o.set_))), context_);
}
Set Set::outline() const {
  isl_set* known = isl_set_remove_unknown_divs(isl_set_compute_divs(copy(set_)));
  return Set(own(isl_set_coalesce(isl_set_remove_redundancies(known))), context_);
}

Set Set::firstVariables(int n) const {
  auto count = static_cast<unsigned>(isl_set_dim(set_.get(), isl_dim_set));
  auto keep = static_cast<unsigned>(n);
  return Set(own(isl_set_project_out(copy(set_), isl_dim_set, keep, count - keep)), context_);
}

Set Set::onto(int position) const {
  auto count = static_cast<unsigned>(isl_set_dim(set_.get(), isl_dim_set));
  auto p = static_cast<unsigned>(position);
  isl_set* s = isl_set_project_out(copy(set_), isl_dim_set, p + 1, count - p - 1);
  return Set(own(isl_set_project_out(s, isl_dim_set, 0, p)), context_);
}

std::optional<Conjunction> Set::symbolCondition() const {
  isl_set* params = isl_set_params(copy(set_));
  params = isl_set_gist(params, isl_set_params(copy(context_->set({}, {}).set_)));
  auto pieces = basicSets(isl_set_coalesce(params));
  if (pieces.size() == 1) return fromBasicSet(pieces[0], {});
  for (auto* p : pieces)
    isl_basic_set_free(p);
  return std::nullopt;
}

std::vector<Set> Set::disjointPieces() const {
  std::vector<Set> result;
  for (isl_basic_set* b : basicSets(isl_set_make_disjoint(isl_set_coalesce(copy(set_))))) {
    result.push_back(Set(own(isl_set_from_basic_set(b)), context_));
  }
  return result;
}

std::vector<Conjunction> Set::constraints(const std::vector<std::string>& names, const Set& context) const {
  std::vector<Conjunction> result;
  isl_set* simplified = isl_set_gist(copy(set_), copy(context.set_));
  for (isl_basic_set* b : basicSets(isl_set_make_disjoint(simplified)))
    result.push_back(fromBasicSet(b, names));
  std::sort(result.begin(), result.end());
  return result;
}

namespace {

/// isl takes a variable that a division speaks of for bounded, and finds out that it is not only when it looks for the
/// bound.
isl_pw_aff* boundOrNull(isl_pw_aff* bound, isl_set* of) {
  isl_ctx* ctx = isl_set_get_ctx(of);
  if (bound || isl_ctx_last_error(ctx) == isl_error_quota) return checked(bound);
  isl_ctx_reset_error(ctx);
  return nullptr;
}

/// The pieces of a bound on the symbols for which it exists; none for null.
std::vector<Set::BoundPiece> boundPieces(isl_pw_aff* bound) {
  if (!bound) return {};
  isl_set* exists = isl_pw_aff_domain(isl_pw_aff_copy(bound));
  bound = checked(isl_pw_aff_coalesce(bound));
  std::vector<std::pair<isl_set*, isl_aff*>> pieces;
  auto visit = [](isl_set* s, isl_aff* a, void* user) {
    static_cast<std::vector<std::pair<isl_set*, isl_aff*>>*>(user)->push_back({s, a});
    return isl_stat_ok;
  };
  auto ok = isl_pw_aff_foreach_piece(bound, visit, &pieces);
  isl_pw_aff_free(bound);
  if (ok != isl_stat_ok) throw BudgetExceeded();
  std::vector<Set::BoundPiece> result;
  for (auto [where, aff] : pieces) {
    aff = checked(isl_aff_gist_params(aff, isl_set_copy(exists)));
    Expr value = fromAff(aff, {});
    isl_aff_free(aff);
    for (isl_basic_set* b : basicSets(isl_set_gist(where, isl_set_copy(exists))))
      result.push_back({value, fromBasicSet(b, {})});
  }
  isl_set_free(exists);
  return result;
}

std::optional<Expr> single(const std::vector<Set::BoundPiece>& pieces) {
  return pieces.size() == 1 ? std::optional(pieces[0].value) : std::nullopt;
}

}  // namespace

std::vector<Set::BoundPiece> Set::minima(int position) const {
  Set set(own(isl_set_coalesce(copy(set_))), context_);  // isl takes an empty piece for unbounded
  bool bounded = truth(isl_set_dim_has_lower_bound(set.set_.get(), isl_dim_set, static_cast<unsigned>(position)));
  if (!bounded) return {};
  return boundPieces(boundOrNull(isl_set_dim_min(copy(set.set_), position), set_.get()));
}
std::vector<Set::BoundPiece> Set::maxima(int position) const {
  Set set(own(isl_set_coalesce(copy(set_))), context_);
  bool bounded = truth(isl_set_dim_has_upper_bound(set.set_.get(), isl_dim_set, static_cast<unsigned>(position)));
  if (!bounded) return {};
  return boundPieces(boundOrNull(isl_set_dim_max(copy(set.set_), position), set_.get()));
}
std::optional<Expr> Set::minimum(int position) const {
  return single(minima(position));
}
std::optional<Expr> Set::maximum(int position) const {
  return single(maxima(position));
}

int64_t Set::stride(int position) const {
  return toInteger(isl_set_get_stride(set_.get(), position));
}

std::optional<std::pair<Bindings, std::vector<int64_t>>> Set::sample() const {
  isl_point* p = checked(isl_set_sample_point(copy(set_)));
  if (truth(isl_point_is_void(p))) {
    isl_point_free(p);
    return std::nullopt;
  }
  std::pair<Bindings, std::vector<int64_t>> result;
  for (unsigned i = 0; i < context_->shapes_.symbols.size(); ++i) {
    result.first[context_->shapes_.symbols[i]] =
        toInteger(isl_point_get_coordinate_val(p, isl_dim_param, static_cast<int>(i)));
  }
  auto n = isl_set_dim(set_.get(), isl_dim_set);
  for (isl_size i = 0; i < n; ++i)
    result.second.push_back(toInteger(isl_point_get_coordinate_val(p, isl_dim_set, i)));
  isl_point_free(p);
  return result;
}

std::string Set::str() const {
  char* text = isl_set_to_str(set_.get());
  std::string result = text ? text : "";
  free(text);
  return result;
}

// --- Map ---

bool Map::isEmpty() const {
  return truth(isl_map_is_empty(map_.get()));
}
Set Map::domain() const {
  return Set(own(isl_map_domain(copy(map_))), context_);
}
Set Map::range() const {
  return Set(own(isl_map_range(copy(map_))), context_);
}
Map Map::reversed() const {
  return Map(own(isl_map_reverse(copy(map_))), context_);
}
Map Map::then(const Map& next) const {
  return Map(own(isl_map_apply_range(copy(map_), copy(next.map_))), context_);
}
Map Map::unite(const Map& o) const {
  return Map(own(isl_map_union(copy(map_), copy(o.map_))), context_);
}
Map Map::intersectDomain(const Set& s) const {
  return Map(own(isl_map_intersect_domain(copy(map_), copy(s.set_))), context_);
}
bool Map::isSingleValued() const {
  return truth(isl_map_is_single_valued(map_.get()));
}
bool Map::isInjective() const {
  return truth(isl_map_is_injective(map_.get()));
}

std::vector<FunctionPiece> Map::function(const std::vector<std::string>& names, const Set& context) const {
  isl_pw_multi_aff* f = isl_pw_multi_aff_from_map(isl_map_compute_divs(copy(map_)));
  f = checked(isl_pw_multi_aff_coalesce(f));
  std::vector<std::pair<isl_set*, isl_multi_aff*>> pieces;
  auto visit = [](isl_set* where, isl_multi_aff* image, void* user) {
    static_cast<std::vector<std::pair<isl_set*, isl_multi_aff*>>*>(user)->push_back({where, image});
    return isl_stat_ok;
  };
  auto ok = isl_pw_multi_aff_foreach_piece(f, visit, &pieces);
  isl_pw_multi_aff_free(f);
  if (ok != isl_stat_ok) throw BudgetExceeded();
  std::vector<FunctionPiece> result;
  for (auto [where, image] : pieces) {
    image = checked(isl_multi_aff_gist(image, isl_set_copy(where)));
    std::vector<Expr> exprs;
    auto n = isl_multi_aff_dim(image, isl_dim_out);
    for (isl_size i = 0; i < n; ++i) {
      isl_aff* a = isl_multi_aff_get_aff(image, i);
      exprs.push_back(fromAff(a, names));
      isl_aff_free(a);
    }
    isl_multi_aff_free(image);
    isl_set* simplified = isl_set_gist(where, copy(context.set_));
    for (isl_basic_set* b : basicSets(isl_set_make_disjoint(simplified)))
      result.push_back({exprs, fromBasicSet(b, names)});
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return std::tie(a.when, a.image) < std::tie(b.when, b.image); });
  return result;
}

std::string Map::str() const {
  char* text = isl_map_to_str(map_.get());
  std::string result = text ? text : "";
  free(text);
  return result;
}

}  // namespace pet::poly
