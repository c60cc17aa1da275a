#pragma once

namespace pet::tool {

/// Memory that is kept back while one of these lives, and given back where an allocation fails, before that is thrown:
/// so that what then goes out of scope can, whose destructor needs memory (nlohmann::json's does). It is the process's
/// std::new_handler meanwhile, in front of the one that there was. Several may live at a time, on any threads.
class MemoryReserve {
 public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
};

}  // namespace pet::tool
