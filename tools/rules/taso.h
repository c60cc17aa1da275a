#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "synth/judge/narrow.h"
#include "tools/common/parallel.h"

namespace pet::rules {

/// A substitution of TASO's and what is known of it, with any number of groups in its convolutions where that is
/// proved.
struct TasoRule {
  std::string name;  ///< the file's i-th is "taso-00i", counted from 0
  Judgement judgement;
};

/// Translates every substitution and judges it. Errors: a file that cannot be read.
Expected<std::vector<TasoRule>> judgeTaso(std::string_view bytes,
                                          const std::string& file,
                                          const tool::Workers& workers);

/// What became of a file of TASO's substitutions.
struct TasoImport {
  /// One line for each: its verdict, its name and its class, or a witness, or a reason; and a summary.
  std::string report;
  /// The proved ones in the rule language, each with its pattern.
  std::string rules;
};

/// judgeTaso() for people and for pet-rules import.
Expected<TasoImport> importTaso(std::string_view bytes, const std::string& file, const tool::Workers& workers);

}  // namespace pet::rules
