// Vocabularies of free mode. What is read is printed and read again, and is the same.

#include "synth/free/vocabulary.h"

#include "tests/fuzz/fuzz.h"

using namespace pet;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::view(data, size);
  auto vocabulary = freemode::parseVocabulary(text, "f");
  if (!vocabulary) {
    fuzz::requirePlace(vocabulary.error(), "f", text);
    return 0;
  }
  std::string once = print(*vocabulary);
  auto again = freemode::parseVocabulary(once, "again");
  fuzz::require(again.has_value(), "what is printed can be read", again ? "" : again.error().message() + "\n" + once);
  fuzz::require(print(*again) == once, "reading and printing gives the same text", once + print(*again));
  fuzz::require(again->operators() == vocabulary->operators(), "reading gives the same operators", once);
  return 0;
}
