#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <isl/version.h>

#include "synth/poly/poly.h"

// Owners of isl's objects. Private to this folder.
namespace pet::poly {

struct Free {
  void operator()(isl_aff* p) const { isl_aff_free(p); }
  void operator()(isl_basic_set* p) const { isl_basic_set_free(p); }
  void operator()(isl_constraint* p) const { isl_constraint_free(p); }
  void operator()(isl_ctx* p) const { isl_ctx_free(p); }
  void operator()(isl_local_space* p) const { isl_local_space_free(p); }
  void operator()(isl_map* p) const { isl_map_free(p); }
  void operator()(isl_mat* p) const { isl_mat_free(p); }
  void operator()(isl_multi_aff* p) const { isl_multi_aff_free(p); }
  void operator()(isl_point* p) const { isl_point_free(p); }
  void operator()(isl_pw_aff* p) const { isl_pw_aff_free(p); }
  void operator()(isl_pw_multi_aff* p) const { isl_pw_multi_aff_free(p); }
  void operator()(isl_set* p) const { isl_set_free(p); }
  void operator()(isl_space* p) const { isl_space_free(p); }
  void operator()(isl_val* p) const { isl_val_free(p); }
};

/// Passed to isl as get() where it keeps and as release() where it takes (__isl_take). isl frees what it takes even
/// when it fails; so nothing leaks as long as an expression with a release() calls nothing but isl, which does not
/// throw.
template <class T>
using Owner = std::unique_ptr<T, Free>;

/// isl answers null after an error. Our calls can meet two: the operation budget is spent; or there is no memory, which
/// no verdict may depend on, and which malloc() leaves in errno (a Context begins with 0 there).
[[noreturn]] inline void throwError() {
  if (errno == ENOMEM) throw std::bad_alloc();
  throw BudgetExceeded();
}

template <class T>
Owner<T> own(T* p) {
  if (!p) throwError();
  return Owner<T>(p);
}

inline bool truth(isl_bool b) {
  if (b == isl_bool_error) throwError();
  return b == isl_bool_true;
}

inline void succeeded(isl_stat status) {
  if (status != isl_stat_ok) throwError();
}

/// Of a value that isl gave away. Throws OverflowError unless it fits.
inline int64_t toInteger(isl_val* value) {
  auto v = own(value);
  bool fits = isl_val_n_abs_num_chunks(v.get(), sizeof(int64_t)) <= 1 && isl_val_cmp_si(v.get(), INT64_MAX) <= 0 &&
              isl_val_cmp_si(v.get(), -INT64_MAX) >= 0;
  if (!fits) throw OverflowError();
  return isl_val_get_num_si(v.get());
}

}  // namespace pet::poly
