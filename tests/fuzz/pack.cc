// Packs as bytes. What is read makes a pack with the same rules.

#include "rules/pack/pack.h"

#include "tests/fuzz/fuzz.h"

using namespace pet;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto rules = readPackBytes(fuzz::view(data, size), "f");
  if (!rules) {
    fuzz::require(rules.error().kind == ErrorKind::kPack && rules.error().where == "f", "an error is about the pack",
                  rules.error().message());
    return 0;
  }
  auto bytes = packBytes(*rules);
  fuzz::require(bytes.has_value(), "what is read can be packed");
  auto again = readPackBytes(*bytes, "again");
  fuzz::require(again.has_value(), "what is packed can be read");
  fuzz::require(packBytes(*again).value() == *bytes, "packing is a function of the rules");
  return 0;
}
