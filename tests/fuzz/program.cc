// The text form of programs. What is read and printed is read again, and is the same program.

#include "ir/denote.h"
#include "ir/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/words.h"

using namespace pet;

namespace {

Program read(const std::string& text) {
  auto program = parseProgram(text, "again");
  fuzz::require(program.has_value(), "what is printed can be read",
                program ? "" : program.error().message() + "\n" + text);
  return *program;
}

/// `names`: those of a layout's axes count, too. (An axis of a number's extent may print as the number.)
void requireSame(const Program& a, const Program& b, bool names) {
  std::string text = print(a);
  fuzz::require(print(b) == text, "reading and printing gives the same text", text + print(b));
  fuzz::require(a.outputs() == b.outputs() && a.nodes().size() == b.nodes().size(), "reading gives the same outputs",
                text);
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &m = a.nodes()[i], &n = b.nodes()[i];
    bool same = m.op == n.op && m.operands == n.operands && m.names == n.names && m.shapes == n.shapes;
    for (const auto& [name, value] : m.attributes)
      same = same && (n.attributes.at(name) == value || (!names && std::holds_alternative<LayoutSpec>(value)));
    fuzz::require(same, "reading gives the same nodes", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::view(data, size);
  auto program = parseProgram(text, "f");
  if (!program) {
    fuzz::requirePlace(program.error(), "f", text);
    return 0;
  }
  Program again = read(print(*program));
  requireSame(*program, again, false);
  requireSame(again, read(print(again)), true);
  return 0;
}
