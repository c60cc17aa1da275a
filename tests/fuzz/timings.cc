// Timings, as text or as a database. What is read and printed is read again, and is the same.

#include "rules/pack/timings.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/words.h"

using namespace pet;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto timings = readTimingsBytes(fuzz::view(data, size), "f");
  if (!timings) {
    fuzz::require(timings.error().kind == ErrorKind::kPack && timings.error().where.starts_with("f"),
                  "an error is about the timings", timings.error().message());
    return 0;
  }
  std::string printed = print(*timings);
  auto again = parseTimings(printed, "again");
  fuzz::require(again.has_value(), "what is printed can be read", again ? "" : again.error().message());
  fuzz::require(*again == *timings, "reading gives the same samples", printed);
  return 0;
}
