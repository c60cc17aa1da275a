#pragma once

#include <string>
#include <vector>

#include "ir/names.h"
#include "synth/poly/poly.h"

// Counts of names and unions of sets, as the matcher handles them. Private to this folder.
namespace pet {

inline int count(const std::vector<std::string>& names) {
  return static_cast<int>(names.size());
}

inline std::string primed(const std::string& name) {
  return name + "'";
}

inline void add(std::optional<poly::Set>& all, const poly::Set& part) {
  all = all ? all->unite(part) : part;
}

}  // namespace pet
