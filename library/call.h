#pragma once

#include <new>

#include <pet/pet.h>

#include "tools/common/memory_reserve.h"
#include "tools/common/tool.h"

namespace pet::library {

/// Runs `body` with a new `Result` to fill, which has a `message`; nothing that it throws gets out.
template <class Result, class Body>
pet_status call(Result** out, Body body) noexcept {
  *out = new (std::nothrow) Result;
  if (!*out) return PET_INTERNAL;
  try {
    const tool::MemoryReserve reserve;
    auto done = body(**out);
    if (done) return PET_OK;
    (*out)->message = tool::oneLine(done.error().message());
    return static_cast<pet_status>(tool::exitCode(done.error().kind));
  } catch (const std::bad_alloc&) {
    (*out)->message = tool::kOutOfMemory;
  } catch (const std::exception& e) {
    try {
      (*out)->message = tool::internalMessage(e);
    } catch (const std::bad_alloc&) {
      (*out)->message = tool::kOutOfMemory;
    }
  }
  return PET_INTERNAL;
}

}  // namespace pet::library
