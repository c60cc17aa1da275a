#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"

// Lists of names of indices.
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

}  // namespace pet
