#include "runtime/cuda/made_up.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace pet::cuda {
namespace {

/// From 0 to 1.
double fractionOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, and a last mixing for its upper bits
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
  return std::ldexp(static_cast<double>(hash >> 11), -53);
}

}  // namespace

double madeUpSeconds(std::string_view problem, std::string_view plan) {
  std::string both(problem);
  both += plan;
  return 1e-5 * std::pow(1000, fractionOf(problem)) * (1 + fractionOf(both) / 2);
}

}  // namespace pet::cuda
