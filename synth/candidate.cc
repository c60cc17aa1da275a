#include "synth/candidate.h"

namespace pet {

std::string_view fateName(Fate fate) {
  static constexpr std::string_view kNames[] = {
      "not applicable", "no vote", "shape",         "empty class", "too deep",    "identity",  "cost",
      "fingerprint",    "unknown", "no correction", "unproved",    "composition", "duplicate", "kept"};
  return kNames[static_cast<size_t>(fate)];
}

}  // namespace pet
