#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/error.h"

namespace pet {

/// Results that need not be computed again: texts by key, in an SQLite file of their own that several processes may use
/// at once. It can be deleted at any time.
class Cache {
 public:
  /// Opens the file, and makes it and its folder where they are missing. kUsage: it cannot be made, or is no such file.
  static Expected<Cache> open(const std::string& path);
  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  Expected<std::optional<std::string>> find(std::string_view key);
  Expected<void> put(std::string_view key, std::string_view value);

 private:
  struct State;
  explicit Cache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pet
