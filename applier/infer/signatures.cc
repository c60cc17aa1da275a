#include "applier/infer/signatures.h"

#include <algorithm>
#include <iterator>

namespace pet {
namespace {

/// By name, then by opset.
constexpr Signature kSignatures[] = {
#include "applier/infer/signatures.inc"
};

}  // namespace

std::span<const Signature> signatures() {
  return kSignatures;
}

const Signature* findSignature(std::string_view type, int64_t opset) {
  auto first = std::lower_bound(std::begin(kSignatures), std::end(kSignatures), type,
                                [](const Signature& s, std::string_view t) { return s.type < t; });
  const Signature* found = nullptr;
  for (auto s = first; s != std::end(kSignatures) && s->type == type && s->since <= opset; ++s)
    found = s;
  return found;
}

std::vector<std::string_view> wordsOf(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

std::vector<SignatureSlot> slotsOf(std::string_view list) {
  std::vector<SignatureSlot> slots;
  for (std::string_view word : wordsOf(list)) {
    SignatureSlot slot;
    char last = word.back();
    slot.isOptional = last == '?';
    slot.isVariadic = last == '*' || last == '+';
    slot.isRequired = last != '*' && last != '?';
    if (slot.isOptional || slot.isVariadic) word.remove_suffix(1);
    slot.isOther = word.front() == '$' || word == "_";
    slot.type = word;
    slots.push_back(slot);
  }
  return slots;
}

}  // namespace pet
