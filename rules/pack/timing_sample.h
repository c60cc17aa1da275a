#pragma once

#include <string>

#include "rules/pack/json.h"
#include "rules/pack/timings.h"

// What both forms of timings share. Private to this folder.
namespace pet {

/// Limits (docs/pack-format.md, Timings).
inline constexpr size_t kMostSamples = 100'000;
inline constexpr size_t kMostNames = 200'000;
inline constexpr size_t kMostMachines = 1000;
inline constexpr const char* kTooMany = "more than 100000 samples";

/// {"C":64,"H":56}: sorted, no spaces.
std::string shapesText(const Bindings& shapes);
/// Throws where it is no object of integers.
Bindings shapesOf(const nlohmann::ordered_json& object);

LayoutSample layoutOf(const TimingSample& sample);

/// What no measurement gives; nullptr for a sane sample.
const char* nonsense(const TimingSample& sample);
/// The same of which rule it is of.
const char* nonsenseOfRule(const NamedRule& rule);
/// The same of the fields that say where and how a sample was taken.
const char* nonsenseOfSetting(const TimingSample& sample);

}  // namespace pet
