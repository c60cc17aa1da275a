#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pet {

/// Bytes that never change, and whatever keeps them alive: a buffer, a file's mapping, a message. Copies share them.
/// Null where there are none, which is not the same as none of them.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::nullptr_t) {}
  Bytes(std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    view_ = *owner;
    owner_ = std::move(owner);
  }
  /// A part of what `owner`, which is not null, keeps alive.
  Bytes(std::string_view view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}

  explicit operator bool() const { return owner_ != nullptr; }
  std::string_view operator*() const { return view_; }
  const std::string_view* operator->() const { return &view_; }

  /// Whether both are null or hold the same; quick where they share their bytes.
  friend bool operator==(const Bytes& a, const Bytes& b) {
    if (!a || !b) return !a && !b;
    return a.view_.size() == b.view_.size() && (a.view_.data() == b.view_.data() || a.view_ == b.view_);
  }

 private:
  std::string_view view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace pet
