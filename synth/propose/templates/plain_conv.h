#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace pet {

/// One axis of a Conv with stride 1: y[v] = Σ_r x[v + r·dilation - begin] w[r].
struct ConvAxis {
  Expr in, out, taps, begin, end;
  int64_t dilation = 1;
};

/// A Conv with constant weights, stride 1 and one group; of a Conv 3-d, several frames, and a number of them in the
/// kernel. All extents are affine.
struct PlainConv {
  std::string x, w;
  Expr images, channels, filters;
  std::optional<ConvAxis> frames;  ///< of a Conv 3-d
  std::vector<ConvAxis> spatial;   ///< one or two: rows and columns, or columns alone
};

/// Nullopt where the node is none.
std::optional<PlainConv> plainConv(const Program& program, const Node& node);
/// … or is not all of the program.
std::optional<PlainConv> plainConv(const Program& program);

/// The equations that give each of the axes so many taps; nullopt where one cannot have them.
std::optional<std::vector<std::pair<std::string, Expr>>> withTaps(const std::vector<ConvAxis>& axes, int taps);

}  // namespace pet
