#include "tools/engine/plan_cache.h"

#include <utility>

#include "rules/pack/cache.h"
#include "rules/pack/digest.h"

namespace pet::tool {
namespace {

class PlanCache final : public cuda::PlanStore {
 public:
  explicit PlanCache(Cache cache) : cache_(std::move(cache)) {}
  Expected<std::optional<std::string>> find(const std::string& key) override { return cache_.find(digestOf(key)); }
  Expected<void> put(const std::string& key, const std::string& text) override {
    return cache_.put(digestOf(key), text);
  }

 private:
  static std::string digestOf(const std::string& key) { return Digest().add(key).hex(); }

  Cache cache_;
};

}  // namespace

Expected<std::shared_ptr<cuda::PlanStore>> openPlanCache(const std::string& path) {
  auto cache = Cache::open(path);
  if (!cache) return tl::unexpected(cache.error());
  return std::make_shared<PlanCache>(std::move(*cache));
}

}  // namespace pet::tool
