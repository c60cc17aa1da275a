#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rules/pack/timings.h"

// Lines of the text form of timings. Private to this folder.
namespace pet {

/// What a sample's line begins with as print() writes it, where lines before it said what its names stand for.
struct PrintedHead {
  PrintedHead(std::string_view line, const TimingNames& names);
  const NamedRule* rule = nullptr;        ///< null: the line is not as print() writes it
  const TimingSample* setting = nullptr;  ///< null where `rule` is
  std::string_view rest;                  ///< of the line
};

/// The sample of a line, however it is written. Errors: kPack, with file:line.
Expected<TimingSample> parseSample(std::string_view line,
                                   const TimingNames& names,
                                   const std::string& file,
                                   int number);

/// What a line with a head says of its layouts; nullopt: it has to be parsed.
std::optional<LayoutSample> layoutOf(std::string_view line, const TimingSample& setting);

using EnterSample = std::function<Expected<void>(std::string_view line, int number)>;
/// Enters a text's machines, settings and rules, and gives each other line, in their order, to enterSample, until that
/// fails. Errors: its own; kPack, with file:line.
Expected<void> readLines(std::string_view text,
                         const std::string& file,
                         Timings& timings,
                         TimingNames& names,
                         const EnterSample& enterSample);

}  // namespace pet
