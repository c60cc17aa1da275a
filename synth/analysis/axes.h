#pragma once

#include <string>
#include <vector>

#include "rules/rule.h"

namespace pet {

/// A digit of a tensor's position: dimension and atom; dim < 0 where the axis does not occur.
struct DigitPlace {
  int dim = -1;
  int atom = 0;
};

/// One index of a pattern's main operator y[v] = Σ x[…] · w[…], and where it occurs.
struct Axis {
  enum class Kind {
    kEqual,   ///< v in x and y alone: a batch dimension
    kGroup,   ///< in x, w and y
    kReduce,  ///< summed, in x and w
    kOut,     ///< in w and y
    kWindow,  ///< v in y, x in x, tap r in w, linked by a linear relation
  };
  std::string name;  ///< lower case of its extent's symbol: "n", "c", "h"
  Kind kind;
  DigitPlace in, weight, out;
  Expr inExtent = 1, outExtent = 1, taps = 1;
  /// kWindow: zero exactly where (v, x, r) belong together, in the variables "v", "x", "r" and the symbols.
  Expr relation;
};

/// A pattern with one main operator, as its axes; read off its denotation, so that Conv, ConvTranspose and MatMul look
/// alike.
struct MainOperator {
  Program program;
  Value x, w, y;
  std::vector<Axis> axes;

  const Axis* find(std::string_view name) const;
  std::vector<const Axis*> ofKind(Axis::Kind kind) const;
};

/// kUnsupported where the program is not one product of one activation and one weight over such axes.
Expected<MainOperator> analyse(const Program& program);

}  // namespace pet
