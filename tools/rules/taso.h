#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"

namespace pet::rules {

/// What became of a file of TASO's substitutions.
struct TasoImport {
  /// One line for each: its verdict, its name and its class, or a witness, or a reason; and a summary.
  std::string report;
  /// The proved ones in the rule language, each with its pattern.
  std::string rules;
};

/// Translates every substitution and judges it. The file's i-th is "taso-00i", counted from 0. Errors: a file that
/// cannot be read.
Expected<TasoImport> importTaso(std::string_view bytes, const std::string& file, unsigned threads);

}  // namespace pet::rules
