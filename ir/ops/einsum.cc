// Einsum: y[result] = Σ Π operand[labels], summed over the labels that the result has not. Each label has one extent:
// what ONNX broadcasts besides, and an ellipsis, are not in the row.

#include "ir/ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/kernels.h"

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

std::string labelsOf(const EinsumEquation& equation) {
  std::string labels;
  for (const std::string& operand : equation.operands)
    std::copy_if(operand.begin(), operand.end(), std::back_inserter(labels),
                 [&](char c) { return labels.find(c) == std::string::npos; });
  return labels;
}

std::optional<std::string> unusedLetters(const EinsumEquation& equation, size_t count) {
  const std::string used = labelsOf(equation);
  std::string letters;
  for (char c : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    if (letters.size() < count && used.find(c) == std::string::npos) letters += c;
  }
  return letters.size() < count ? std::nullopt : std::optional(letters);
}

std::string inOrder(const EinsumEquation& equation) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::string labels = labelsOf(equation);
  auto entered = [&](std::string& text, const std::string& of) {
    for (char c : of)
      text += kLetters[labels.find(c)];
  };
  std::string text;
  for (const std::string& operand : equation.operands) {
    if (&operand != equation.operands.data()) text += ',';
    entered(text, operand);
  }
  text += "->";
  entered(text, equation.result);
  return text;
}

namespace {

bool isOfLetters(const std::string& labels) {
  return std::all_of(labels.begin(), labels.end(), [](unsigned char c) { return std::isalpha(c); });
}

/// Whether the text is one of letters, with a result that has each label at most once.
bool isPlain(const std::string& text, const EinsumEquation& e) {
  const std::string& result = e.result;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result.find(result[i], i + 1) != std::string::npos) return false;
  }
  const std::string labels = labelsOf(e);
  return text.find("->") != std::string::npos && text.find(' ') == std::string::npos && isOfLetters(labels) &&
         std::all_of(result.begin(), result.end(), [&](char c) { return labels.find(c) != std::string::npos; });
}

Expected<std::vector<Shape>> inferEinsumRow(const OpView& v) {
  const std::string& text = v.text("equation");
  const EinsumEquation e = readEinsum(text);
  if (e.operands.size() != v.operands.size() || !isPlain(text, e))
    return fail(ErrorKind::kText, fmt::format("Einsum of {} operands by \"{}\"", v.operands.size(), text));
  std::map<char, Dim> extents;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const std::string& labels = e.operands[i];
    bool fits = labels.size() == v.operands[i].size();
    for (size_t d = 0; fits && d < labels.size(); ++d)
      fits = extents.try_emplace(labels[d], v.operands[i][d]).first->second == v.operands[i][d];
    if (!fits) return fail(ErrorKind::kText, fmt::format("Einsum of {} by \"{}\"", str(v.operands[i]), labels));
  }
  Shape out;
  for (char c : e.result)
    out.push_back(extents.at(c));
  return std::vector<Shape>{out};
}

Expected<std::vector<AccessPiece>> accessEinsum(const OpView& v, int, const Index& at, NameSource& names) {
  const EinsumEquation e = readEinsum(v.text("equation"));
  std::map<char, std::vector<Expr>> digits;
  for (size_t d = 0; d < e.result.size(); ++d)
    digits.emplace(e.result[d], at[d]);
  AccessPiece piece;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    Index read;
    for (size_t d = 0; d < e.operands[i].size(); ++d) {
      auto known = digits.find(e.operands[i][d]);
      if (known == digits.end())
        known = digits.emplace(e.operands[i][d], freshDigits(v.operands[i][d], "k", names, piece)).first;
      read.push_back(known->second);
    }
    piece.reads.push_back({static_cast<int>(i), std::move(read)});
  }
  return std::vector{piece};
}

// --- Rounding ---

int64_t einsumTerms(const NodeExtents& n) {
  const EinsumEquation e = readEinsum(n.concrete.text("equation"));
  int64_t terms = 1;
  std::string summed = e.result;  // and what is in the result already
  for (size_t i = 0; i < e.operands.size(); ++i) {
    for (size_t d = 0; d < e.operands[i].size(); ++d) {
      if (summed.find(e.operands[i][d]) != std::string::npos) continue;
      summed += e.operands[i][d];
      terms = checkedMul(terms, n.operands[i][d]);
    }
  }
  return terms;
}

const OpRow kEinsumRows[] = {
    {.name = "Einsum",
     .minOperands = 1,
     .maxOperands = -1,
     .attributes = {{"equation", AttributeKind::kText, ""}},
     .infer = inferEinsumRow,
     .access = accessEinsum,
     .kernels = ringKernels<kernels::Einsum>(),
     .work = Work::kLabels,
     .rounding = {.arithmetic = Arithmetic::kProducts, .terms = einsumTerms},
     .onnx = {12}},
};

}  // namespace

std::span<const OpRow> einsumRows() {
  return kEinsumRows;
}

}  // namespace pet
