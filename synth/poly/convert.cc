#include "synth/poly/convert.h"

#include <algorithm>
#include <map>

namespace pet::poly {
namespace {

/// Where each name stands in a space.
using Positions = std::map<std::string, std::pair<isl_dim_type, unsigned>, std::less<>>;

Owner<isl_aff> toAff(const Expr& e, isl_local_space* space, const Positions& positions) {
  isl_ctx* ctx = isl_local_space_get_ctx(space);
  auto sum = own(isl_aff_zero_on_domain(isl_local_space_copy(space)));
  sum = own(isl_aff_add_constant_val(sum.release(), isl_val_int_from_si(ctx, e.constant())));
  for (const auto& [term, c] : e.terms()) {
    Owner<isl_aff> t;
    if (term.division) {
      t = toAff(term.division->numerator, space, positions);
      t = own(isl_aff_scale_down_val(t.release(), isl_val_int_from_si(ctx, term.division->divisor)));
      t = own(isl_aff_floor(t.release()));
    } else {
      auto [type, position] = positions.at(term.name);
      t = own(isl_aff_var_on_domain(isl_local_space_copy(space), type, position));
    }
    t = own(isl_aff_scale_val(t.release(), isl_val_int_from_si(ctx, c)));
    sum = own(isl_aff_add(sum.release(), t.release()));
  }
  return sum;
}

Positions positionsIn(isl_space* space, const std::vector<std::string>& variables) {
  Positions positions;
  auto symbols = static_cast<unsigned>(isl_space_dim(space, isl_dim_param));
  for (unsigned i = 0; i < symbols; ++i)
    positions[isl_space_get_dim_name(space, isl_dim_param, i)] = {isl_dim_param, i};
  for (unsigned i = 0; i < variables.size(); ++i)
    positions[variables[i]] = {isl_dim_set, i};
  return positions;
}

bool isAffine(const Expr& e) {
  return std::none_of(e.terms().begin(), e.terms().end(), [](const auto& t) { return t.first.division != nullptr; });
}

/// A matrix of affine expressions, one a row: the constant, then the coefficients of the symbols and of the variables.
Owner<isl_mat> toMatrix(isl_space* space, const std::vector<const Expr*>& rows, const Positions& positions) {
  isl_ctx* ctx = isl_space_get_ctx(space);
  const int symbols = isl_space_dim(space, isl_dim_param);
  const int height = static_cast<int>(rows.size()), width = 1 + symbols + isl_space_dim(space, isl_dim_set);
  auto matrix = own(isl_mat_alloc(ctx, static_cast<unsigned>(height), static_cast<unsigned>(width)));
  auto set = [&](int row, int column, int64_t value) {
    matrix = own(isl_mat_set_element_val(matrix.release(), row, column, isl_val_int_from_si(ctx, value)));
  };
  for (int row = 0; row < height; ++row) {
    const Expr& e = *rows[static_cast<size_t>(row)];
    for (int column = 0; column < width; ++column)
      matrix = own(isl_mat_set_element_si(matrix.release(), row, column, 0));
    set(row, 0, e.constant());
    for (const auto& [term, c] : e.terms()) {
      auto [type, position] = positions.at(term.name);
      set(row, 1 + (type == isl_dim_param ? 0 : symbols) + static_cast<int>(position), c);
    }
  }
  return matrix;
}

/// The part of a basic set where the constraints hold. Without divisions all are added at once: isl simplifies the set
/// each time that one is.
Owner<isl_basic_set> withConstraints(Owner<isl_basic_set> set,
                                     const std::vector<std::string>& variables,
                                     const Conjunction& constraints) {
  auto space = own(isl_basic_set_get_space(set.get()));
  const Positions positions = positionsIn(space.get(), variables);
  if (std::all_of(constraints.begin(), constraints.end(), [](const Constraint& c) { return isAffine(c.expr); })) {
    std::vector<const Expr*> zero, nonNegative;
    for (const Constraint& c : constraints)
      (c.kind == Constraint::Kind::kZero ? zero : nonNegative).push_back(&c.expr);
    auto equalities = toMatrix(space.get(), zero, positions);
    auto inequalities = toMatrix(space.get(), nonNegative, positions);
    auto all = own(isl_basic_set_from_constraint_matrices(space.release(), equalities.release(), inequalities.release(),
                                                          isl_dim_cst, isl_dim_param, isl_dim_set, isl_dim_div));
    return own(isl_basic_set_intersect(set.release(), all.release()));
  }
  auto local = own(isl_local_space_from_space(space.release()));
  for (const Constraint& c : constraints) {
    auto aff = toAff(c.expr, local.get(), positions);
    bool equality = c.kind == Constraint::Kind::kZero;
    auto added = own(equality ? isl_equality_from_aff(aff.release()) : isl_inequality_from_aff(aff.release()));
    set = own(isl_basic_set_add_constraint(set.release(), added.release()));
  }
  return set;
}

Constraint fromConstraint(isl_constraint* constraint, const std::vector<std::string>& names) {
  auto aff = own(isl_constraint_get_aff(constraint));
  bool equality = truth(isl_constraint_is_equality(constraint));
  return {fromAff(aff.get(), names), equality ? Constraint::Kind::kZero : Constraint::Kind::kNonNegative};
}

}  // namespace

Owner<isl_basic_set> toClass(isl_ctx* ctx, const ShapeClass& shapes) {
  auto symbols = static_cast<unsigned>(shapes.symbols.size());
  auto space = own(isl_space_set_alloc(ctx, symbols, 0));
  for (unsigned i = 0; i < symbols; ++i)
    space = own(isl_space_set_dim_name(space.release(), isl_dim_param, i, shapes.symbols[i].c_str()));
  return withConstraints(own(isl_basic_set_universe(space.release())), {}, shapes.constraints);
}

Owner<isl_set> toSet(isl_basic_set* classOfShapes,
                     const std::vector<std::string>& variables,
                     const Conjunction& constraints) {
  auto wider = own(
      isl_basic_set_add_dims(isl_basic_set_copy(classOfShapes), isl_dim_set, static_cast<unsigned>(variables.size())));
  return own(isl_set_from_basic_set(withConstraints(std::move(wider), variables, constraints).release()));
}

Expr fromAff(isl_aff* aff, const std::vector<std::string>& names) {
  auto denominator = toInteger(isl_aff_get_denominator_val(aff));
  auto scaled = [&](isl_val* coefficient) {  // coefficient · denominator, an integer
    return toInteger(isl_val_mul_ui(coefficient, static_cast<unsigned long>(denominator)));
  };
  Expr sum = scaled(isl_aff_get_constant_val(aff));
  auto space = own(isl_aff_get_domain_local_space(aff));
  auto symbols = isl_aff_dim(aff, isl_dim_param);
  for (isl_size i = 0; i < symbols; ++i) {
    sum += Expr::variable(isl_local_space_get_dim_name(space.get(), isl_dim_param, static_cast<unsigned>(i))) *
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
    auto division = own(isl_aff_get_div(aff, i));
    sum += fromAff(division.get(), names) * c;  // a division's own aff is floored by its denominator below
  }
  return floorDiv(sum, denominator);
}

std::vector<Owner<isl_basic_set>> basicSets(Owner<isl_set> set) {
  set = own(isl_set_compute_divs(set.release()));
  std::vector<Owner<isl_basic_set>> pieces;
  auto visit = [](isl_basic_set* b, void* user) {
    static_cast<std::vector<Owner<isl_basic_set>>*>(user)->emplace_back(b);
    return isl_stat_ok;
  };
  succeeded(isl_set_foreach_basic_set(set.get(), visit, &pieces));
  return pieces;
}

Conjunction fromBasicSet(isl_basic_set* basic, const std::vector<std::string>& names) {
  std::vector<Owner<isl_constraint>> constraints;  // collected first: nothing may throw through isl's frames
  auto visit = [](isl_constraint* c, void* user) {
    static_cast<std::vector<Owner<isl_constraint>>*>(user)->emplace_back(c);
    return isl_stat_ok;
  };
  succeeded(isl_basic_set_foreach_constraint(basic, visit, &constraints));
  Conjunction result;
  for (const auto& c : constraints) {
    if (!truth(isl_constraint_is_div_constraint(c.get()))) result.push_back(fromConstraint(c.get(), names));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace pet::poly
