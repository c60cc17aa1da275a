#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace pet {

/// The result of a program as boxes that are copied from its inputs. The digits of its dimensions are slots: one each,
/// but neighbours of which every position is a part of its own are one slot.
struct CopiedBoxes {
  /// Positions begin … end - 1 of one digit, or of several that are counted as one.
  struct Range {
    Expr begin, end;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Slot {
    std::vector<size_t> digits;
    Dim extent;
    bool isUnrolled = false;  ///< every position is a part of its own
  };
  struct Part {
    std::vector<Range> box;  ///< per slot
    int input = 0;
    std::vector<Expr> reads;  ///< per dimension of the input, in the digits of the result
  };

  std::vector<std::string> index;  ///< names of the digits
  std::vector<Expr> extents;       ///< per digit
  std::vector<Slot> slots;
  std::vector<Part> parts;
};

/// Of a program with one output. Bounds are compared at `typical`: that the boxes are the right ones at every size is
/// for the proof to say. Nullopt: the result is no copy of boxes, or of too many.
std::optional<CopiedBoxes> copiedBoxes(const Program& program, const Bindings& typical);

}  // namespace pet
