#pragma once

#include <string>
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
  /// Of what it calls; "": it has none.
  virtual std::string name() const { return ""; }

  /// 0: not known.
  virtual int64_t bytesWritten() const { return 0; }

  int lowered = -1;          ///< that was lowered when it was made; -1: it brings outputs to their places
  std::vector<int> buffers;  ///< all that it reads or writes
};

}  // namespace pet::plan
