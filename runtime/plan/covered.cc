#include "runtime/plan/covered.h"

#include "runtime/plan/loops.h"

namespace pet::plan {
namespace {

/// Calls body(offset) for every element.
template <class Body>
void forEachElement(const Access& access, const Body& body) {
  Loops loops({access});
  loops.run(0, loops.rows(), [&](const int64_t* at) {
    for (int64_t i = 0; i < loops.count(); ++i)
      body(static_cast<size_t>(at[0] + i * loops.steps()[0]));
  });
}

}  // namespace

bool Covered::add(const Access& access) {
  bool isNew = true;
  forEachElement(access, [&](size_t offset) {
    isNew = isNew && !elements_[offset];
    elements_[offset] = true;
  });
  return isNew;
}

bool Covered::meets(const Access& access) const {
  bool meets = false;
  forEachElement(access, [&](size_t offset) { meets = meets || elements_[offset]; });
  return meets;
}

}  // namespace pet::plan
