#pragma once

#include <vector>

namespace pet::plan {

/// Where each buffer lies; valid once memory is planned and the caller's tensors are known.
using Pointers = std::vector<char*>;

/// One operation, with all choices made.
class Step {
 public:
  virtual ~Step() = default;
  /// Called before run() whenever a buffer of the step has moved.
  virtual void bind(const Pointers& pointers) = 0;
  virtual void run() = 0;

  std::vector<int> buffers;  ///< all that it reads or writes
};

}  // namespace pet::plan
