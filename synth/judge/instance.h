#pragma once

#include <optional>

#include "synth/analysis/axes.h"

namespace pet {

/// A pattern's program over the symbols of a candidate; read once for all steps that ask.
struct PatternInstance {
  explicit PatternInstance(Program of) : program(std::move(of)) {
    if (auto read = analyse(program)) main = std::move(*read);
  }

  Program program;
  std::optional<MainOperator> main;  ///< where the program is one product over axes
};

}  // namespace pet
