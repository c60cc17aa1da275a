// A place for plans that lasts as long as a test.
#pragma once

#include <map>
#include <string>

#include "runtime/cuda/plan_store.h"

namespace pet::testing_support {

struct MapStore final : cuda::PlanStore {
  std::map<std::string, std::string> texts;
  bool refuses = false;

  Expected<std::optional<std::string>> find(const std::string& key) override {
    if (refuses) return fail(ErrorKind::kUsage, "the store refuses");
    const auto found = texts.find(key);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  Expected<void> put(const std::string& key, const std::string& text) override {
    texts[key] = text;
    return {};
  }
};

}  // namespace pet::testing_support
