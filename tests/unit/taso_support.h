#pragma once

#include <sstream>
#include <string>

#include "rules/taso/substitutions.h"

// Substitutions as values and as bytes: a second writer of the format that rules/taso reads.
namespace pet::testing_support {

/// A variable, and the first result of an operator.
inline taso::Tensor var(int number) {
  return {-number, 0};
}
inline taso::Tensor result(int op, int output = 0) {
  return {op, output};
}

/// An operator of TASO's table, by its number there.
inline taso::Operator op(int type, std::vector<taso::Tensor> inputs, std::map<int, int> parameters = {}) {
  return {type, std::move(inputs), std::move(parameters)};
}
inline taso::Operator matmul(taso::Tensor a, taso::Tensor b) {
  return op(18, {a, b}, {{taso::kActivation, 0}});
}
/// 3x3, stride 1, the pads "same".
inline taso::Operator conv(taso::Tensor x, taso::Tensor w, int activation = 0) {
  return op(3, {x, w}, {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, activation}});
}
inline taso::Operator relu(taso::Tensor x) {
  return op(8, {x});
}
inline taso::Operator concat(int axis, int rank, taso::Tensor a, taso::Tensor b) {
  return op(12, {a, b}, {{1, 2}, {taso::kAxis, axis}, {taso::kRank, rank}});
}
inline taso::Operator split(int axis, taso::Tensor x) {
  return op(13, {x}, {{2, 2}, {taso::kAxis, axis}});
}
inline taso::Operator add(taso::Tensor a, taso::Tensor b) {
  return op(16, {a, b});
}

/// "x7", "%0.1" (tests/e2e/_taso_facts.py).
inline taso::Tensor tensorOf(const std::string& text) {
  int number = std::stoi(text.substr(1));
  size_t dot = text.find('.');
  return {text[0] == 'x' ? -number : number, dot == std::string::npos ? 0 : std::stoi(text.substr(dot + 1))};
}

/// TASO's published substitutions: the text of tests/data/taso.txt.
inline std::vector<taso::Substitution> publishedSubstitutions(const std::string& text) {
  std::vector<taso::Substitution> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    taso::Substitution s;
    std::vector<taso::Operator>* side = &s.source;
    bool isFirst = true, isOutput = false;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      bool isLast = word.back() == ';';
      if (isLast) word.pop_back();
      if (word == "=>") {
        side = &s.target;
        isLast = true;
      } else if (word == ":") {
        isOutput = true;
      } else if (isOutput) {
        taso::MappedOutput m;
        char at = 0;
        std::istringstream(word) >> m.source >> at >> m.sourceOutput >> at >> m.target >> at >> m.targetOutput;
        s.outputs.push_back(m);
      } else if (isFirst) {
        side->push_back(op(std::stoi(word), {}));
      } else if (word[0] == 'k') {
        side->back().parameters[std::stoi(word.substr(1))] = std::stoi(word.substr(word.find('=') + 1));
      } else {
        side->back().inputs.push_back(tensorOf(word));
      }
      isFirst = isLast;
    }
    all.push_back(std::move(s));
  }
  return all;
}

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7)
    bytes += static_cast<char>(128 | (value & 127));
  return bytes + static_cast<char>(value);
}
/// A field that is a number; an int32 below zero has ten bytes.
inline std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(value));
}
/// A field that is a message.
inline std::string message(int field, const std::string& bytes) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

inline std::string bytesOf(const taso::Operator& o) {
  std::string bytes = number(1, o.type);
  for (const taso::Tensor& t : o.inputs)
    bytes += message(2, number(1, t.op) + number(2, t.output));
  for (const auto& [key, value] : o.parameters)
    bytes += message(3, number(1, key) + number(2, value));
  return bytes;
}

inline std::string bytesOf(const taso::Substitution& s) {
  std::string bytes;
  for (const taso::Operator& o : s.source)
    bytes += message(1, bytesOf(o));
  for (const taso::Operator& o : s.target)
    bytes += message(2, bytesOf(o));
  for (const taso::MappedOutput& m : s.outputs) {
    bytes +=
        message(3, number(1, m.source) + number(2, m.target) + number(3, m.sourceOutput) + number(4, m.targetOutput));
  }
  return message(1, bytes);
}

}  // namespace pet::testing_support
