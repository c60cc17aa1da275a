#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace pet {

/// Whose fault an error is; tools turn it into an exit code (see docs/command-line.md).
enum class ErrorKind { kUsage, kModel, kPack, kText, kCheck, kUnsupported, kInternal, kRunner };

/// A user-visible error: what went wrong, where, and what to do about it. One line each, no trailing period.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string what;
  std::string where;   ///< file, line:column, node or tensor; may be empty
  std::string advice;  ///< may be empty

  /// "where: what (advice)".
  std::string message() const {
    return (where.empty() ? "" : where + ": ") + what + (advice.empty() ? "" : " (" + advice + ")");
  }
};

template <class T>
using Expected = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string where = "", std::string advice = "") {
  return tl::unexpected(Error{kind, std::move(what), std::move(where), std::move(advice)});
}

}  // namespace pet

/// Returns the error of an expected value that has one, from a function whose errors are of the same type.
#define PET_TRY(expression) \
  if (auto tried = (expression); !tried) return tl::unexpected(tried.error())
