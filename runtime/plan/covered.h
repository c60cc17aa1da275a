#pragma once

#include <vector>

#include "runtime/plan/access.h"

namespace pet::plan {

/// The elements of a buffer that accesses without a fill reach.
class Covered {
 public:
  explicit Covered(int64_t elements) : elements_(static_cast<size_t>(elements)) {}
  /// False: some were covered before, or the access reaches them twice.
  bool add(const Access& access);
  bool meets(const Access& access) const;

 private:
  std::vector<bool> elements_;
};

}  // namespace pet::plan
