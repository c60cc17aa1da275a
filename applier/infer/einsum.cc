#include "applier/infer/einsum.h"

#include <algorithm>
#include <map>

namespace pet {
namespace {

std::string impliedResult(const std::vector<std::string>& operands) {
  std::map<char, int> count;
  for (const std::string& labels : operands) {
    for (char c : labels)
      ++count[c];
  }
  std::string result = count.contains('.') ? "." : "";
  for (auto [c, times] : count) {
    if (c != '.' && times == 1) result += c;
  }
  return result;
}

}  // namespace

EinsumEquation readEinsum(const std::string& text) {
  std::string words;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ') words += text[i];
    if (text.compare(i, 3, "...") == 0) i += 2;
  }
  const size_t arrow = words.find("->");
  const std::string left = words.substr(0, arrow);
  EinsumEquation e;
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = std::min(left.find(',', begin), left.size());
    e.operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  e.result = arrow == std::string::npos ? impliedResult(e.operands) : words.substr(arrow + 2);
  return e;
}

}  // namespace pet
