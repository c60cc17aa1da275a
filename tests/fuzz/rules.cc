// The text form of patterns and rules. What is read and printed is read again, and prints the same.

#include "rules/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/words.h"

using namespace pet;

namespace {

std::string printed(const RuleSet& set) {
  std::string text;
  for (const Pattern& p : set.patterns)
    text += print(p);
  for (const Rule& r : set.rules)
    text += print(r);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::view(data, size);
  auto rules = parseRules(text, "f");
  if (!rules) {
    fuzz::requirePlace(rules.error(), "f", text);
    return 0;
  }
  std::string once = printed(*rules);
  auto again = parseRules(once, "again");
  fuzz::require(again.has_value(), "what is printed can be read", again ? "" : again.error().message() + "\n" + once);
  fuzz::require(printed(*again) == once, "reading and printing gives the same text", once + printed(*again));
  return 0;
}
