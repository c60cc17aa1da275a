#include "synth/poly/poly.h"

#include <algorithm>

#include <isl/options.h>

#include "synth/poly/convert.h"

namespace pet::poly {

/// What a Context shares with its sets and maps.
struct Scope {
  ShapeClass shapes;
  Owner<isl_ctx> ctx;
  Owner<isl_basic_set> classOfShapes;  ///< null until the first set; toClass() takes operations of the budget, too
};

namespace {

/// For isl to take.
isl_set* copy(const std::shared_ptr<isl_set>& s) {
  return isl_set_copy(s.get());
}
isl_map* copy(const std::shared_ptr<isl_map>& m) {
  return isl_map_copy(m.get());
}

/// Of a string that isl gave away.
std::string toString(char* text) {
  std::unique_ptr<char, decltype(&free)> owner(text, free);
  return text ? text : "";
}

}  // namespace

// --- Context ---

Context::Context(const ShapeClass& shapes, unsigned long budget)
    : scope_(std::make_shared<Scope>(Scope{shapes, Owner<isl_ctx>(isl_ctx_alloc()), nullptr})) {
  if (!scope_->ctx) throw std::bad_alloc();
  errno = 0;
  isl_options_set_on_error(scope_->ctx.get(), ISL_ON_ERROR_CONTINUE);
  if (budget) isl_ctx_set_max_operations(scope_->ctx.get(), budget);
}

std::string libraryVersion() {
  std::string version = isl_version();
  return version.substr(0, version.find('\n'));
}

const ShapeClass& Context::shapes() const {
  return scope_->shapes;
}

Set Context::set(const std::vector<std::string>& variables, const Conjunction& constraints) const {
  if (!scope_->classOfShapes) scope_->classOfShapes = toClass(scope_->ctx.get(), scope_->shapes);
  return Set(scope_, toSet(scope_->classOfShapes.get(), variables, constraints).release());
}

Map Context::map(const std::vector<std::string>& from,
                 const std::vector<std::string>& to,
                 const Conjunction& constraints,
                 const std::vector<std::string>& exists) const {
  std::vector<std::string> all = from;
  all.insert(all.end(), to.begin(), to.end());
  auto keep = static_cast<int>(all.size());
  all.insert(all.end(), exists.begin(), exists.end());
  return set(all, constraints).firstVariables(keep).asMap(static_cast<int>(from.size()));
}

Set Context::emptySet(int variables) const {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(variables));
  for (int i = 0; i < variables; ++i)
    names.push_back("e" + std::to_string(i));
  return set(names, {{Expr(-1), Constraint::Kind::kNonNegative}});
}

Set Context::pullBack(const Set& s, const std::vector<std::string>& variables, const std::vector<Expr>& at) const {
  std::vector<std::string> to;
  Conjunction equal;
  for (size_t i = 0; i < at.size(); ++i) {
    to.push_back("at " + std::to_string(i));
    equal.push_back(Constraint::eq(Expr::variable(to.back()), at[i]));
  }
  Map m = map(variables, to, equal);
  return Set(scope_, isl_set_apply(copy(s.set_), isl_map_reverse(copy(m.map_))));
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

Set::Set(const std::shared_ptr<const Scope>& scope, isl_set* taken)
    : scope_(scope), set_(own(taken).release(), [scope](isl_set* p) { isl_set_free(p); }) {}

bool Set::isEmpty() const {
  return truth(isl_set_is_empty(set_.get()));
}
bool Set::isSubset(const Set& o) const {
  return truth(isl_set_is_subset(set_.get(), o.set_.get()));
}
Set Set::unite(const Set& o) const {
  return Set(scope_, isl_set_union(copy(set_), copy(o.set_)));
}
Set Set::intersect(const Set& o) const {
  return Set(scope_, isl_set_intersect(copy(set_), copy(o.set_)));
}
Set Set::subtract(const Set& o) const {
  return Set(scope_, isl_set_subtract(copy(set_), copy(o.set_)));
}
bool Set::isDisjoint(const Set& o) const {
  return truth(isl_set_is_disjoint(set_.get(), o.set_.get()));
}
Set Set::within(const Set& context) const {
  return Set(scope_, isl_set_gist(copy(set_), copy(context.set_)));
}
Set Set::outline() const {
  auto known = own(isl_set_remove_unknown_divs(isl_set_compute_divs(copy(set_))));
  return Set(scope_, isl_set_coalesce(isl_set_remove_redundancies(known.release())));
}

Set Set::firstVariables(int n) const {
  auto count = static_cast<unsigned>(isl_set_dim(set_.get(), isl_dim_set));
  auto keep = static_cast<unsigned>(n);
  return Set(scope_, isl_set_project_out(copy(set_), isl_dim_set, keep, count - keep));
}

Map Set::asMap(int n) const {
  auto m = own(isl_map_from_range(copy(set_)));
  return Map(scope_, isl_map_move_dims(m.release(), isl_dim_in, 0, isl_dim_out, 0, static_cast<unsigned>(n)));
}

Set Set::closed() const {
  return Set(scope_, isl_set_coalesce(isl_set_compute_divs(copy(set_))));
}

Set Set::at(const Bindings& symbols) const {
  auto part = own(copy(set_));
  for (unsigned i = 0; i < scope_->shapes.symbols.size(); ++i) {
    auto value = own(isl_val_int_from_si(scope_->ctx.get(), symbols.at(scope_->shapes.symbols[i])));
    part = own(isl_set_fix_val(part.release(), isl_dim_param, i, value.release()));
  }
  return Set(scope_, part.release());
}

Set Set::onto(int position) const {
  auto count = static_cast<unsigned>(isl_set_dim(set_.get(), isl_dim_set));
  auto p = static_cast<unsigned>(position);
  auto upTo = own(isl_set_project_out(copy(set_), isl_dim_set, p + 1, count - p - 1));
  return Set(scope_, isl_set_project_out(upTo.release(), isl_dim_set, 0, p));
}

std::optional<Conjunction> Set::symbolCondition() const {
  auto condition = own(isl_set_params(copy(set_)));
  auto known = own(isl_set_params(toSet(scope_->classOfShapes.get(), {}, {}).release()));
  condition = own(isl_set_gist(condition.release(), known.release()));
  auto pieces = basicSets(own(isl_set_coalesce(condition.release())));
  if (pieces.size() != 1) return std::nullopt;
  return fromBasicSet(pieces[0].get(), {});
}

std::vector<Set> Set::disjointPieces() const {
  std::vector<Set> result;
  for (auto& b : basicSets(own(isl_set_make_disjoint(isl_set_coalesce(copy(set_))))))
    result.push_back(Set(scope_, isl_set_from_basic_set(b.release())));
  return result;
}

std::vector<Conjunction> Set::constraints(const std::vector<std::string>& names, const Set& context) const {
  std::vector<Conjunction> result;
  auto simplified = own(isl_set_gist(copy(set_), copy(context.set_)));
  for (const auto& b : basicSets(own(isl_set_make_disjoint(simplified.release()))))
    result.push_back(fromBasicSet(b.get(), names));
  std::sort(result.begin(), result.end());
  return result;
}

namespace {

/// The pieces of a bound on the symbols for which it exists. None for null without a spent budget: isl takes a variable
/// that a division speaks of for bounded, and finds out that it is not only when it looks for the bound.
std::vector<Set::BoundPiece> boundPieces(isl_ctx* ctx, isl_pw_aff* taken) {
  if (!taken && isl_ctx_last_error(ctx) == isl_error_alloc) throw std::bad_alloc();
  if (!taken && isl_ctx_last_error(ctx) != isl_error_quota) {
    isl_ctx_reset_error(ctx);
    return {};
  }
  auto bound = own(taken);
  auto exists = own(isl_pw_aff_domain(isl_pw_aff_copy(bound.get())));
  bound = own(isl_pw_aff_coalesce(bound.release()));
  using Pieces = std::vector<std::pair<Owner<isl_set>, Owner<isl_aff>>>;
  Pieces pieces;
  auto visit = [](isl_set* s, isl_aff* a, void* user) {
    static_cast<Pieces*>(user)->emplace_back(s, a);
    return isl_stat_ok;
  };
  succeeded(isl_pw_aff_foreach_piece(bound.get(), visit, &pieces));
  std::vector<Set::BoundPiece> result;
  for (auto& [where, aff] : pieces) {
    aff = own(isl_aff_gist_params(aff.release(), isl_set_copy(exists.get())));
    Expr value = fromAff(aff.get(), {});
    for (const auto& b : basicSets(own(isl_set_gist(where.release(), isl_set_copy(exists.get())))))
      result.push_back({value, fromBasicSet(b.get(), {})});
  }
  return result;
}

std::optional<Expr> single(const std::vector<Set::BoundPiece>& pieces) {
  return pieces.size() == 1 ? std::optional(pieces[0].value) : std::nullopt;
}

}  // namespace

std::vector<Set::BoundPiece> Set::minima(int position) const {
  auto set = own(isl_set_coalesce(copy(set_)));  // isl takes an empty piece for unbounded
  if (!truth(isl_set_dim_has_lower_bound(set.get(), isl_dim_set, static_cast<unsigned>(position)))) return {};
  return boundPieces(scope_->ctx.get(), isl_set_dim_min(set.release(), position));
}
std::vector<Set::BoundPiece> Set::maxima(int position) const {
  auto set = own(isl_set_coalesce(copy(set_)));
  if (!truth(isl_set_dim_has_upper_bound(set.get(), isl_dim_set, static_cast<unsigned>(position)))) return {};
  return boundPieces(scope_->ctx.get(), isl_set_dim_max(set.release(), position));
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
  auto p = own(isl_set_sample_point(copy(set_)));
  if (truth(isl_point_is_void(p.get()))) return std::nullopt;
  std::pair<Bindings, std::vector<int64_t>> result;
  const auto& symbols = scope_->shapes.symbols;
  for (unsigned i = 0; i < symbols.size(); ++i) {
    result.first[symbols[i]] = toInteger(isl_point_get_coordinate_val(p.get(), isl_dim_param, static_cast<int>(i)));
  }
  auto n = isl_set_dim(set_.get(), isl_dim_set);
  for (isl_size i = 0; i < n; ++i)
    result.second.push_back(toInteger(isl_point_get_coordinate_val(p.get(), isl_dim_set, i)));
  return result;
}

std::string Set::str() const {
  return toString(isl_set_to_str(set_.get()));
}

// --- Map ---

Map::Map(const std::shared_ptr<const Scope>& scope, isl_map* taken)
    : scope_(scope), map_(own(taken).release(), [scope](isl_map* p) { isl_map_free(p); }) {}

bool Map::isEmpty() const {
  return truth(isl_map_is_empty(map_.get()));
}
Set Map::domain() const {
  return Set(scope_, isl_map_domain(copy(map_)));
}
Set Map::range() const {
  return Set(scope_, isl_map_range(copy(map_)));
}
Map Map::reversed() const {
  return Map(scope_, isl_map_reverse(copy(map_)));
}
Set Map::asSet() const {
  return Set(scope_, isl_set_flatten(isl_map_wrap(copy(map_))));
}
Map Map::then(const Map& next) const {
  return Map(scope_, isl_map_apply_range(copy(map_), copy(next.map_)));
}
Map Map::unite(const Map& o) const {
  return Map(scope_, isl_map_union(copy(map_), copy(o.map_)));
}
Map Map::intersectDomain(const Set& s) const {
  return Map(scope_, isl_map_intersect_domain(copy(map_), copy(s.set_)));
}
Map Map::intersectRange(const Set& s) const {
  return Map(scope_, isl_map_intersect_range(copy(map_), copy(s.set_)));
}
Map Map::least() const {
  return Map(scope_, isl_map_lexmin(copy(map_)));
}
bool Map::isSingleValued() const {
  return truth(isl_map_is_single_valued(map_.get()));
}
bool Map::isInjective() const {
  return truth(isl_map_is_injective(map_.get()));
}

std::vector<FunctionPiece> Map::function(const std::vector<std::string>& names, const Set& context) const {
  auto f = own(isl_pw_multi_aff_from_map(isl_map_compute_divs(copy(map_))));
  f = own(isl_pw_multi_aff_coalesce(f.release()));
  using Pieces = std::vector<std::pair<Owner<isl_set>, Owner<isl_multi_aff>>>;
  Pieces pieces;
  auto visit = [](isl_set* where, isl_multi_aff* image, void* user) {
    static_cast<Pieces*>(user)->emplace_back(where, image);
    return isl_stat_ok;
  };
  succeeded(isl_pw_multi_aff_foreach_piece(f.get(), visit, &pieces));
  std::vector<FunctionPiece> result;
  for (auto& [where, image] : pieces) {
    image = own(isl_multi_aff_gist(image.release(), isl_set_copy(where.get())));
    std::vector<Expr> exprs;
    auto n = isl_multi_aff_dim(image.get(), isl_dim_out);
    exprs.reserve(static_cast<size_t>(std::max(n, isl_size{0})));  // -1 is isl's error
    for (isl_size i = 0; i < n; ++i)
      exprs.push_back(fromAff(own(isl_multi_aff_get_aff(image.get(), i)).get(), names));
    auto simplified = own(isl_set_gist(where.release(), copy(context.set_)));
    for (const auto& b : basicSets(own(isl_set_make_disjoint(simplified.release()))))
      result.push_back({exprs, fromBasicSet(b.get(), names)});
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return std::tie(a.when, a.image) < std::tie(b.when, b.image); });
  return result;
}

std::string Map::str() const {
  return toString(isl_map_to_str(map_.get()));
}

}  // namespace pet::poly
