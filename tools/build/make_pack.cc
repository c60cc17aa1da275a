// Run by the build: make_pack PACK DIGEST TEXT makes the default pack of its text, and a source file with its digest.
// Proofs are not checked here, where there is no solver: the tests of the repository do it (docs/install.md).

#include <cstdio>

#include <fmt/format.h>

#include "rules/pack/file.h"
#include "rules/pack/pack.h"
#include "rules/text.h"

namespace {

using namespace pet;

std::string sourceWith(const std::string& digest) {
  return fmt::format(
      "#include \"tools/apply/default_pack.h\"\n\n"
      "namespace pet::tool {{\n\n"
      "std::string_view defaultPackDigest() {{\n  return \"{}\";\n}}\n\n"
      "}}  // namespace pet::tool\n",
      digest);
}

Expected<void> makePack(const std::string& pack, const std::string& source, const std::string& text) {
  auto written = readFile(text, ErrorKind::kText)
                     .and_then([&](const std::string& bytes) { return parseRules(bytes, text); })
                     .and_then([&](const RuleSet& rules) { return writePack(rules, pack); });
  if (!written) return written;
  auto made = Pack::open(pack);
  if (!made) return tl::unexpected(made.error());
  return writeFile(source, sourceWith(made->digest()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: make_pack PACK DIGEST TEXT\n", stderr);
    return 2;
  }
  auto done = makePack(argv[1], argv[2], argv[3]);
  if (done) return 0;
  std::fputs(fmt::format("make_pack: {}\n", done.error().message()).c_str(), stderr);
  return 1;
}
