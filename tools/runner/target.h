#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ir/machine.h"
#include "tools/engine/own_engine.h"
#include "tools/runner/machine.h"

namespace pet::runner {

/// What a runner says of itself.
struct Identity {
  std::string device;  ///< "onednn-cpu", "cuda:h200:tf32"
  std::string engine, version, provider;
  Machine machine;
  std::string properties = "";  ///< of a GPU, as its library describes it, JSON; "": it does not
};

/// What a runner runs models on: a processor or a GPU.
class Target {
 public:
  virtual ~Target() = default;
  virtual Identity identity() const = 0;
  /// The engines for a request; `processor`: how it computes what it computes.
  virtual Engines engines(const OneDnnOptions& processor) const = 0;
  /// Overwrites the caches at each call, so that weights come from memory. It holds memory as long as it lives.
  virtual std::function<void()> cacheFlush() const = 0;
};

std::unique_ptr<Target> processorTarget(const Affinity& affinity);
/// `device`: what was asked for. A GPU that it does not name gets the name that its driver gives it.
std::unique_ptr<Target> gpuTarget(tool::OwnEngine engine, const std::string& device, const Affinity& affinity);

}  // namespace pet::runner
