#pragma once

#include <optional>
#include <string>

#include "ir/error.h"

namespace pet::cuda {

/// Texts that are kept from one start to the next, by key. An error is about the place where they are kept, never about
/// a text that is missing.
class PlanStore {
 public:
  virtual ~PlanStore() = default;
  virtual Expected<std::optional<std::string>> find(const std::string& key) = 0;
  virtual Expected<void> put(const std::string& key, const std::string& text) = 0;
};

}  // namespace pet::cuda
