#pragma once

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "applier/onnx/graph.h"

// Graphs from text.
namespace pet::testing_support {

inline ElementType elementOf(char c) {
  switch (c) {
    case 'f':
      return ElementType::kFloat;
    case 'i':
      return ElementType::kInt64;
    case 'j':
      return ElementType::kInt32;
    case 'b':
      return ElementType::kBool;
    case 'u':
      return ElementType::kUint8;
    default:
      return ElementType::kUnknown;
  }
}

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);)
    parts.push_back(part);
  return parts;
}

/// What stands between the first of `open` and the last of `close`.
inline std::string within(const std::string& text, char open, char close) {
  size_t begin = text.find(open) + 1;
  return text.substr(begin, text.rfind(close) - begin);
}

inline ValueType valueTypeOf(const std::string& text) {
  ValueType type{elementOf(text[0]), std::nullopt};
  if (text.size() < 2 || text[1] != '[') return type;
  type.dims.emplace();
  for (const std::string& d : split(within(text, '[', ']'), ',')) {
    bool number = !d.empty() && std::all_of(d.begin(), d.end(), [](char c) { return c >= '0' && c <= '9'; });
    type.dims->push_back(number ? std::optional<int64_t>(std::stoll(d)) : std::nullopt);
    type.names.push_back(number || d == "?" ? "" : d);
  }
  return type;
}

inline Constant constantOf(const std::string& text) {
  const bool vector = text[1] == '{';
  auto entries = split(vector ? within(text, '{', '}') : within(text, '(', ')'), ',');
  Extents extents = vector ? Extents{static_cast<int64_t>(entries.size())} : Extents{};
  if (text[0] == 'f') {
    Tensor<float> t(extents);
    for (size_t i = 0; i < entries.size(); ++i)
      t.data[i] = std::stof(entries[i]);
    return Constant::of(t);
  }
  Tensor<int64_t> t(extents);
  for (size_t i = 0; i < entries.size(); ++i)
    t.data[i] = std::stoll(entries[i]);
  return Constant::of(t);
}

inline GraphAttribute attributeOf(const std::string& text) {
  if (text[0] == '"') return within(text, '"', '"');
  if (text[0] == 'i') return constantOf(text);
  if (text[0] != '[') return text.find('.') == std::string::npos ? GraphAttribute(std::stoll(text)) : std::stof(text);
  std::vector<int64_t> list;
  for (const std::string& entry : split(within(text, '[', ']'), ','))
    list.push_back(std::stoll(entry));
  return list;
}

inline void readNode(Graph& graph, const std::string& word) {
  size_t equals = word.find('='), paren = word.find('(');
  GraphNode node;
  node.outputs = split(word.substr(0, equals), ',');
  node.type = word.substr(equals + 1, paren - equals - 1);
  node.inputs = split(within(word, '(', ')'), ',');
  node.name = node.outputs[0];
  graph.nodes.push_back(std::move(node));
}

/// The graph that a text says, word by word: `x:f[N,3]` is an input (f i j b u: float, int64, int32, bool, uint8; `?`
/// an extent without a name), `k=i{1,2}` a constant vector and `k=i(3)` a scalar, before the first node; `y,z=Op(x,,k)`
/// a node, followed by its attributes `a=1 b=[1,2] c="s" d=2.5 e=i{4}`.
inline Graph graphOf(const std::string& text, int64_t opset) {
  Graph graph;
  graph.opset = opset;
  for (const std::string& word : split(text, ' ')) {
    size_t colon = word.find(':'), equals = word.find('=');
    if (word.empty()) continue;
    if (colon != std::string::npos && equals == std::string::npos) {
      graph.types[word.substr(0, colon)] = valueTypeOf(word.substr(colon + 1));
      graph.inputs.push_back(word.substr(0, colon));
    } else if (std::isupper(static_cast<unsigned char>(word[equals + 1]))) {
      readNode(graph, word);
    } else if (graph.nodes.empty()) {
      graph.initializers.push_back({word.substr(0, equals), constantOf(word.substr(equals + 1))});
    } else {
      graph.nodes.back().attributes[word.substr(0, equals)] = attributeOf(word.substr(equals + 1));
    }
  }
  return graph;
}

}  // namespace pet::testing_support
