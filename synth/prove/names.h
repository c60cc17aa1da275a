#pragma once

#include <string>
#include <vector>

#include "synth/poly/poly.h"

// Lists of names and unions of sets, as the matcher handles them. Private to this folder.
namespace pet {

inline std::vector<Expr> asExprs(const std::vector<std::string>& names) {
  std::vector<Expr> result;
  result.reserve(names.size());
  for (const std::string& n : names)
    result.push_back(Expr::variable(n));
  return result;
}

inline std::vector<std::string> join(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline int count(const std::vector<std::string>& names) {
  return static_cast<int>(names.size());
}

inline void add(std::optional<poly::Set>& all, const poly::Set& part) {
  all = all ? all->unite(part) : part;
}

}  // namespace pet
