#pragma once

#include "session/model_session.h"

namespace pet::session {

struct DrawOptions {
  uint64_t seed = 0;
  bool positive = false;                               ///< floats are at least 1/64
  std::map<std::string, int64_t, std::less<>> dims;    ///< extents that the model leaves open, by name
  std::map<std::string, Extents, std::less<>> shapes;  ///< all extents of an input, which come first
};

/// Inputs of a model, a function of seed, name, type and extents: floats within -1 and 1; integers and truth values 0
/// or 1, which are indices into any dimension but one of extent 1. kUsage: an extent that neither the model nor the
/// options say, with its name; a name that the model has not.
Expected<Feeds> drawInputs(const ModelSession& session, const DrawOptions& options);

}  // namespace pet::session
