// Packs as bytes. What is read makes a pack with the same rules; a pack that is read in parts gives rules or an error.

#include "rules/pack/pack.h"

#include "tests/fuzz/fuzz.h"

using namespace pet;

namespace {

void requirePackError(const Error& error) {
  fuzz::require(error.kind == ErrorKind::kPack && error.where == "f", "an error is about the pack", error.message());
}

/// As the applier does, without SQLite's check of all pages.
Expected<size_t> readInParts(std::string_view bytes) {
  auto pack = Pack::openBytes(bytes, "f");
  if (!pack) return tl::unexpected(pack.error());
  auto patterns = pack->patternsOf({"Add", "Concat", "Conv", "MatMul", "Relu", "Softmax"});
  if (!patterns) return tl::unexpected(patterns.error());
  std::set<std::string> names;
  for (const Pattern* pattern : *patterns) {
    auto rules = pack->rulesOf(*pattern);
    if (!rules) return tl::unexpected(rules.error());
    for (const Rule* rule : *rules)
      names.insert(rule->name);
  }
  return pack->proved(names).map([](const RuleSet& rules) { return rules.rules.size(); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (auto read = readInParts(fuzz::view(data, size)); !read) requirePackError(read.error());
  auto rules = readPackBytes(fuzz::view(data, size), "f");
  if (!rules) {
    requirePackError(rules.error());
    return 0;
  }
  auto bytes = packBytes(*rules);
  fuzz::require(bytes.has_value(), "what is read can be packed");
  auto again = readPackBytes(*bytes, "again");
  fuzz::require(again.has_value(), "what is packed can be read");
  fuzz::require(packBytes(*again).value() == *bytes, "packing is a function of the rules");
  return 0;
}
