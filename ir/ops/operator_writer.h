#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace pet {

/// Adds operators one after the other; after a failure it adds none.
class OperatorWriter {
 public:
  explicit OperatorWriter(ProgramBuilder& builder) : builder_(builder) {}

  Value operator()(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    if (!failed_) {
      auto added = builder_.add(op, std::move(operands), std::move(attributes));
      if (added) return *added;
      failed_ = added.error();
    }
    return {0, 0};
  }
  Expected<Value> result(Value last) const {
    if (failed_) return tl::unexpected(*failed_);
    return last;
  }

 private:
  ProgramBuilder& builder_;
  std::optional<Error> failed_;
};

}  // namespace pet
