#pragma once

#include <functional>
#include <iostream>
#include <string>

#include "tools/runner/target.h"

namespace pet::runner {

/// Answers requests, one a line, until "quit" or the end; see docs/command-line.md. Every mistake is an answer.
void serve(std::istream& requests, const std::function<void(const std::string& line)>& answer, const Target& target);

}  // namespace pet::runner
