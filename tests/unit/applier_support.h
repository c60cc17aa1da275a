#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "applier/apply.h"
#include "applier/choose/applicable.h"
#include "applier/onnx/model.h"
#include "applier/read/normalise.h"
#include "applier/view/view.h"
#include "applier/write/emit.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

// Models from the text form of programs, and their evaluation.
namespace pet::testing_support {

/// Small integers, never 0, so that sums are exact and no term hides.
inline Tensor<float> integers(const Extents& extents, uint64_t seed) {
  Tensor<float> t(extents);
  uint64_t state = seed * 2654435761U + 12345;
  for (float& value : t.data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<float>(static_cast<int64_t>((state >> 33) % 4) + 1) * ((state >> 40) % 2 ? 1.0F : -1.0F);
  }
  return t;
}

/// Statements on one line are parted by two blanks.
inline Program parsed(std::string_view text) {
  std::string lines(text);
  for (size_t at = lines.find("  "); at != std::string::npos; at = lines.find("  ", at))
    lines[at] = '\n';
  auto program = parseProgram(lines, "test");
  EXPECT_TRUE(program.has_value()) << program.error().message() << "\n" << text;
  return program ? *program : Program();
}

/// What rules cost, by name, whatever the shapes.
inline Costs costsOf(const std::map<std::string, CostEstimate>& byRule, double layoutSecondsPerByte = 0) {
  auto at = [byRule](const Rule& rule, const Bindings&) -> Expected<CostEstimate> {
    auto cost = byRule.find(rule.name);
    if (cost == byRule.end()) return fail(ErrorKind::kCheck, "not tuned for this device");
    return cost->second;
  };
  return {at, layoutSecondsPerByte};
}

/// The replacement takes a millisecond.
inline CostEstimate ratioOf(double ratio, double lower) {
  return {.pattern = ratio * 1e-3, .replacement = 1e-3, .layouts = 0, .lower = lower, .measured = true};
}

using Constants = std::map<std::string, Constant, std::less<>>;

inline Constants constantsOf(const Program& program) {
  Constants constants;
  for (Value v : program.inputs()) {
    if (program.node(v).scalar("constant") == Expr(1)) {
      constants.emplace(program.name(v),
                        Constant::of(integers(concrete(program.shape(v)), static_cast<uint64_t>(v.node) + 7)));
    }
  }
  return constants;
}

/// The model that computes a program, as it would come from a file.
inline Model modelOf(std::string_view text, int64_t opset = 17) {
  Program program = parsed(text);
  auto graph = toGraph(program, constantsOf(program), opset);
  EXPECT_TRUE(graph.has_value()) << graph.error().message();
  if (!graph) return {};
  auto bytes = serialize({*graph, nullptr});
  EXPECT_TRUE(bytes.has_value());
  auto model = parseModel(*bytes, "test");
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return model ? *model : Model();
}

/// The model with extents of its one input and output left open, by dimension.
inline Model withOpen(const Model& model, const std::map<size_t, std::string>& names) {
  Graph graph = model.graph;
  graph.original = nullptr;
  for (Initializer& i : graph.initializers)
    i.original = -1;
  for (const auto* values : {&graph.inputs, &graph.outputs}) {
    ValueType& type = graph.types.at(values->at(0));
    type.names.assign(type.dims->size(), "");
    for (const auto& [dimension, name] : names) {
      type.dims->at(dimension).reset();
      type.names.at(dimension) = name;
    }
  }
  auto bytes = serialize({std::move(graph), nullptr});
  EXPECT_TRUE(bytes.has_value());
  auto open = parseModel(*bytes, "test");
  EXPECT_TRUE(open.has_value()) << open.error().message();
  return open ? *open : Model();
}

/// A rewritten model as one file.
inline std::string bytesOf(const Applied& applied) {
  auto bytes = serialize(applied.model);
  EXPECT_TRUE(bytes.has_value()) << bytes.error().message();
  return bytes ? std::move(*bytes) : std::string();
}

/// The results of a program; inputs of the same name get the same values.
inline std::vector<Tensor<float>> results(const Program& program, const Constants& constants) {
  std::map<std::string, Tensor<float>> inputs;
  for (Value v : program.inputs()) {
    const std::string& name = program.name(v);
    auto c = constants.find(name);
    inputs.emplace(
        name, c == constants.end() ? integers(concrete(program.shape(v)), name.size() + 3) : c->second.values<float>());
  }
  auto out = evaluate<float>(program, {}, inputs);
  EXPECT_TRUE(out.has_value()) << out.error().message();
  return out ? *out : std::vector<Tensor<float>>();
}

inline std::vector<Tensor<float>> results(const Graph& graph) {
  auto whole = toProgram(graph);
  EXPECT_TRUE(whole.has_value()) << whole.error().message();
  return whole ? results(whole->program, whole->constants) : std::vector<Tensor<float>>();
}

/// "Conv Relu Add": the types of a graph's nodes in order.
inline std::string types(const Graph& graph) {
  std::string text;
  for (const GraphNode& n : graph.nodes)
    text += (text.empty() ? "" : " ") + n.type;
  return text;
}

/// A view in which every node is new.
inline View newView(const Program& program) {
  ViewBuilder builder;
  Constants constants = constantsOf(program);
  for (const Node& n : program.nodes()) {
    if (n.op->name != "Input") {
      Provenance made;
      made.site = 0;
      EXPECT_TRUE(builder.add(*n.op, n.operands, n.attributes, n.names, made).has_value());
    } else if (n.scalar("constant") == Expr(1)) {
      builder.name(builder.constant(n.names[0], constants.at(n.names[0])), n.names[0]);
    } else {
      builder.name(builder.input(n.names[0], n.shapes[0], ElementType::kFloat), n.names[0]);
    }
  }
  for (Value v : program.outputs())
    builder.name(v, program.name(v));
  return std::move(builder).finish(program.outputs());
}

/// "Conv Relu Layout": the operators that compute with activations.
inline std::string operators(const View& view) {
  auto constant = knownNodes(view.program);
  std::string text;
  for (size_t i = 0; i < constant.size(); ++i) {
    const auto& name = view.program.nodes()[i].op->name;
    if (!constant[i] && name != "Input") text += (text.empty() ? "" : " ") + std::string(name);
  }
  return text;
}

inline RuleSet rulesOf(std::string_view text) {
  auto rules = parseRules(text, "test");
  EXPECT_TRUE(rules.has_value()) << rules.error().message();
  return rules ? *rules : RuleSet();
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

inline ApplyOptions all() {
  ApplyOptions options;
  options.policy.all = true;
  return options;
}

/// The reference in the place of an engine.
inline FloatEngine referenceEngine() {
  return [](const Program& p, const Weights& weights) -> Expected<FloatRun> {
    return [p, weights](const TensorMap& inputs, const ReportShare&) -> Expected<std::vector<Tensor<float>>> {
      InputSource<float> every = [&](std::string_view name) {
        auto drawn = inputs.find(name);
        return drawn == inputs.end() ? weights.tensors(name) : borrow(drawn->second);
      };
      auto results = execute<float>(p, {}, every);
      if (!results) return tl::unexpected(results.error());
      std::vector<Tensor<float>> tensors;
      for (const auto& t : *results)
        tensors.push_back(*t);
      return tensors;
    };
  };
}

inline Applied applied(const Model& model, const RuleSet& rules, const ApplyOptions& options, const Costs& costs = {}) {
  auto result = apply(model, rules, costs, options);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result ? *result : Applied();
}

/// The graph that is written.
inline Graph rewrittenGraph(const Applied& a) {
  auto model = parseModel(bytesOf(a), "test");
  EXPECT_TRUE(model.has_value()) << model.error().message();
  return model ? model->graph : Graph();
}

/// Two convolutions with biases and a Relu between, batch 2.
inline constexpr const char* kTwoConvs =
    "x: [2, 3, 6, 8]  v: const [4, 3, 3, 3]  b: const [4, 1, 1]  w: const [2, 4, 3, 3]  c: const [2, 1, 1]  "
    "p = Conv(x, v) pads=[1, 1, 1, 1]  q = Add(p, b)  r = Relu(q)  s = Conv(r, w) pads=[1, 1, 1, 1]  y = Add(s, c)";

}  // namespace pet::testing_support
