#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "session/model_session.h"
#include "tests/unit/graph_text.h"

// Tensors and sessions from text.
namespace pet::testing_support {

/// "f[2,3]{1,2,3,4,5,6}": its type (as in graphOf(), and d: double, h: float16), extents and values.
inline Constant feedOf(const std::string& text) {
  const std::string dims = within(text.substr(0, text.find('{')), '[', ']');
  Extents extents;
  for (const std::string& d : split(dims, ','))
    extents.push_back(std::stoll(d));
  Tensor<double> values(extents);
  size_t i = 0;
  for (const std::string& v : split(within(text, '{', '}'), ','))
    values.data.at(i++) = std::stod(v);
  if (text[0] == 'd' || text[0] == 'h')
    return Constant::rounded(text[0] == 'd' ? ElementType::kDouble : ElementType::kFloat16, values);
  return Constant::rounded(elementOf(text[0]), values);
}

/// As feedOf() reads it; numbers to six digits.
inline std::string textOf(const Constant& c) {
  std::vector<double> numbers;
  if (auto reals = c.numbers()) {
    numbers = *reals;
  } else {
    const auto integers = c.values<int64_t>().data;
    numbers.assign(integers.begin(), integers.end());
  }
  std::map<ElementType, char> letters{
      {ElementType::kFloat, 'f'}, {ElementType::kInt64, 'i'},  {ElementType::kInt32, 'j'},  {ElementType::kBool, 'b'},
      {ElementType::kUint8, 'u'}, {ElementType::kDouble, 'd'}, {ElementType::kFloat16, 'h'}};
  return fmt::format("{}[{}]{{{:.6g}}}", letters[c.element], fmt::join(c.extents, ","), fmt::join(numbers, ","));
}

/// "x=f[2]{1,2} k=i[]{3}"
inline session::Feeds feedsOf(const std::string& text) {
  session::Feeds feeds;
  for (const std::string& word : split(text, ' ')) {
    const size_t at = word.find('=');
    if (!word.empty()) feeds.emplace(word.substr(0, at), feedOf(word.substr(at + 1)));
  }
  return feeds;
}

/// A graph whose outputs are those of its last node, unless `outputs` names some.
inline Graph sessionGraph(const std::string& text, int64_t opset = 17, const std::vector<std::string>& outputs = {}) {
  Graph graph = graphOf(text, opset);
  graph.outputs = outputs.empty() ? graph.nodes.back().outputs : outputs;
  return graph;
}

inline Expected<std::unique_ptr<session::ModelSession>> sessionOf(const Graph& graph,
                                                                  size_t plans = 4,
                                                                  const ByteEngine& bytes = nullptr) {
  return session::ModelSession::of({.graph = graph, .file = nullptr}, "test", {referenceEngine(), bytes},
                                   {.plans = plans});
}

/// The outputs, one after another; or the error.
inline std::string ran(session::ModelSession& session, const std::string& feeds) {
  auto results = session.run(feedsOf(feeds));
  if (!results) return results.error().message();
  std::vector<std::string> words;
  for (const Constant& c : *results)
    words.push_back(textOf(c));
  return fmt::format("{}", fmt::join(words, " "));
}

inline std::string ran(const Graph& graph, const std::string& feeds) {
  auto session = sessionOf(graph);
  return session ? ran(**session, feeds) : session.error().message();
}

}  // namespace pet::testing_support
