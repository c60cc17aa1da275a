// Checkpoints and parts. Each line of the input gets the digest that it must have; what is read and written again is
// the same; a part of anything is merged or refused.

#include "rules/pack/digest.h"
#include "synth/scale/shards.h"
#include "tests/fuzz/fuzz.h"

using namespace pet;

namespace {

std::string withDigests(std::string_view text) {
  std::string bytes = "pet outcomes 2\n";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    bytes += Digest().add("pet outcomes 2").add(line).hex().substr(0, 16);
    bytes.append(" ").append(line).append("\n");
  }
  return bytes;
}

std::string printed(const Outcomes& o) {
  std::string bytes = checkpointHead(o.id, o.shard);
  for (const UnitOutcome& outcome : o.done)
    bytes += checkpointLine(outcome);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::view(data, size);
  auto raw = readOutcomes(text, "f");
  fuzz::require(raw || raw.error().where == "f", "an error is about the file");
  auto outcomes = readOutcomes(withDigests(text), "f");
  if (!outcomes) {
    fuzz::require(outcomes.error().kind == ErrorKind::kPack && outcomes.error().where == "f",
                  "an error is about the file", outcomes.error().message());
    return 0;
  }
  std::string once = printed(*outcomes);
  auto again = readOutcomes(once, "again");
  fuzz::require(again.has_value(), "what is written can be read", again ? "" : again.error().message());
  fuzz::require(printed(*again) == once, "reading gives the same outcomes", once);
  outcomes->id.code = searchCode();
  if (auto merged = mergeParts({{"f", std::move(*outcomes)}}); !merged)
    fuzz::require(!merged.error().what.empty(), "an error says what is wrong");
  return 0;
}
