// The default pack's rules as programs for a device: both sides of each, at small shapes of its class.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "applier/choose/policy.h"
#include "rules/small_shapes.h"
#include "rules/text.h"
#include "tests/unit/cuda_support.h"

namespace pet::testing_support {

/// Of these sources, or where PET_SOURCE says; or, in its place, the file PET_RULES.
inline RuleSet defaultPack() {
  const char *source = std::getenv("PET_SOURCE"), *given = std::getenv("PET_RULES");
  const std::string path = given ? given : std::string(source ? source : PET_SOURCE_DIR) + "/packs/default.pet";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  auto rules = parseRules(text.str(), path);
  EXPECT_TRUE(rules) << rules.error().message();
  return rules ? *rules : RuleSet();
}

inline std::optional<Program> bound(const Program& program, const Bindings& shape) {
  std::map<std::string, Expr> numbers;
  for (const auto& [symbol, value] : shape)
    numbers.emplace(symbol, Expr(value));
  auto result = program.substitute(numbers);
  return result ? std::optional(*result) : std::nullopt;
}

/// So little that plain loops take no time.
inline bool isSmall(const Program& program, const Bindings& shape) {
  constexpr int64_t kMost = 4096;
  for (const Node& node : program.nodes()) {
    for (const Shape& s : node.shapes) {
      auto extents = evaluate(s, shape);
      if (!extents || elementCount(*extents) > kMost) return false;
    }
  }
  return true;
}

/// The type whose roundings those of floats are there.
inline ElementType roundedTo(cuda::Precision precision) {
  return computedAt(cuda::nameOf(precision));
}

/// The rules number index, index + parts, ... of a pack; of these all that pet-apply takes, unless --max-rel-error says
/// otherwise, where floats are rounded to this type. In float it takes each.
struct PackPart {
  size_t index = 0, parts = 1;
  ElementType rounded = ElementType::kFloat;

  bool takes(const Rule& rule) const { return relativeError(rule.numerics, rounded) <= kErrorLimits.at(rounded); }
};

/// Each rule of a part at so many shapes, each shape on the next of the devices.
inline std::vector<DeviceRun> preparedRules(const std::vector<std::shared_ptr<cuda::Device>>& devices,
                                            size_t shapes,
                                            const PackPart& part = {}) {
  const RuleSet pack = defaultPack();
  std::vector<DeviceRun> runs;
  std::vector<size_t> places;  // of each run, the device
  for (size_t i = part.index; i < pack.rules.size(); i += part.parts) {
    const Rule& rule = pack.rules[i];
    if (!part.takes(rule)) continue;
    auto pattern = instantiate(*pack.findPattern(rule.pattern), rule);
    EXPECT_TRUE(pattern) << rule.name;
    if (!pattern) continue;
    auto small = [&](const Bindings& shape) { return isSmall(*pattern, shape) && isSmall(rule.replacement, shape); };
    size_t place = 0;
    for (const Bindings& shape : smallShapes(rule.shapes, shapes, 1, small).members) {
      for (const Program& side : {*pattern, rule.replacement}) {
        auto program = bound(side, shape);
        EXPECT_TRUE(program) << rule.name;
        if (!program) continue;
        runs.push_back({rule.name, *program, drawModel(*program), 0, nullptr});
        places.push_back(place % devices.size());
      }
      ++place;
    }
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    DeviceRun& run = runs[i];
    auto model = CudaModel::prepare(run.program, inputsFrom<float>(run.tensors), devices[places[i]]);
    EXPECT_TRUE(model) << run.name << ": " << model.error().message();
    if (model) run.model = std::move(*model);
  }
  return runs;
}

/// In a precision that rounds numbers to 8 or 11 bits. Nearly all: sums that cancel lose most of so few bits.
inline void expectNearlyAllNear(const std::vector<DeviceRun>& runs, cuda::Precision precision) {
  constexpr double kFar = 0.005;
  const double tolerance = kErrorLimits.at(roundedTo(precision));
  size_t far = 0;
  std::string names;
  for (const DeviceRun& run : runs) {
    ASSERT_TRUE(run.model) << run.name;
    const auto wanted = expected(run.program, run.tensors), found = results(run);
    bool isNear = true;
    for (size_t i = 0; i < wanted.size(); ++i)
      isNear &= distance(found[i], wanted[i]) <= tolerance;
    if (isNear) continue;
    ++far;
    names += run.name + "\n";
  }
  EXPECT_LE(static_cast<double>(far), kFar * static_cast<double>(runs.size())) << names;
}

}  // namespace pet::testing_support
