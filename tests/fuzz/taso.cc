// TASO's file of substitutions. What is read is translated or refused, and what is translated is printed and read
// again.

#include "rules/taso/translate.h"
#include "rules/text.h"
#include "tests/fuzz/fuzz.h"

using namespace pet;

namespace {

/// A file may hold many; their translation is what takes time.
constexpr size_t kMostTranslated = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto read = taso::readSubstitutions(fuzz::view(data, size), "f");
  if (!read) {
    fuzz::require(!read.error().what.empty(), "an error says what is wrong");
    return 0;
  }
  for (size_t i = 0; i < std::min(read->size(), kMostTranslated); ++i) {
    for (auto groups : {taso::Groups::kLeast, taso::Groups::kAny}) {
      auto translated = taso::translate((*read)[i], "taso-1", groups);
      if (!translated) continue;
      std::string text = print(translated->pattern) + print(translated->rule);
      auto again = parseRules(text, "again");
      fuzz::require(again.has_value(), "a translation can be read", again ? "" : again.error().message() + "\n" + text);
    }
  }
  return 0;
}
