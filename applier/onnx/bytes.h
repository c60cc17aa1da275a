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
  /// A part of what `owner`, which is not null, keeps alive. `mapped`: of a file's mapping.
  Bytes(std::string_view view, std::shared_ptr<const void> owner, bool mapped = false)
      : view_(view), owner_(std::move(owner)), mapped_(mapped) {}
  /// Some of them, which must not be null.
  Bytes part(std::string_view view) const { return {view, owner_, mapped_}; }

  explicit operator bool() const { return owner_ != nullptr; }
  std::string_view operator*() const { return view_; }
  const std::string_view* operator->() const { return &view_; }
  /// Memory is only a copy of a file: dropPages() (mapping.h) may let go of it.
  bool mapped() const { return mapped_; }

  /// Whether both are null or hold the same; quick where they share their bytes.
  friend bool operator==(const Bytes& a, const Bytes& b) {
    if (!a || !b) return !a && !b;
    return a.view_.size() == b.view_.size() && (a.view_.data() == b.view_.data() || a.view_ == b.view_);
  }

 private:
  std::string_view view_;
  std::shared_ptr<const void> owner_;
  bool mapped_ = false;
};

}  // namespace pet
