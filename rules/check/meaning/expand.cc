// Operators that are made of others: docs/rule-language.md, the first table of "The denotation".

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rules/check/meaning/function.h"
#include "rules/check/meaning/relation.h"

namespace pet::check {
namespace {

/// Writes the new program. Throws Opaque where a shape does not fit.
class Expansion {
 public:
  /// With `unfolded`, operators by their definitions instead of those that are made of others.
  explicit Expansion(const Program& program, const Unfolded* unfolded = nullptr)
      : program_(program), unfolded_(unfolded) {}

  bool wroteDefinitions = false;

  /// A positive part is its argument times whether that is > 0; of the negative of z, whether z is not. By `negative`,
  /// by what is < 0. A Not reads it as it is.
  Program gated(bool negative) {
    std::map<int, Value> arguments;
    for (int n = 0; n < static_cast<int>(program_.nodes().size()); ++n) {
      const Node& node = program_.nodes()[static_cast<size_t>(n)];
      const std::string_view op = opOf(node);
      auto part = node.operands.empty() ? arguments.end() : arguments.find(node.operands[0].node);
      if (op == "Relu") {
        const Value z = now_.at(node.operands[0]);
        arguments.emplace(n, z);
        now_[{n, 0}] = make("Mul", {z, whetherPositive(z, negative)});
      } else if (op == "Not" && part != arguments.end()) {
        now_[{n, 0}] = make("Not", {make("Relu", {part->second})});
      } else {
        copy(node, n, false);
      }
    }
    return finished();
  }

  Program run() {
    for (size_t n = 0; n < program_.nodes().size(); ++n)
      copy(program_.nodes()[n], static_cast<int>(n));
    return finished();
  }

 private:
  Program finished() {
    std::vector<Value> outputs;
    for (Value v : program_.outputs())
      outputs.push_back(now_.at(v));
    return std::move(builder_).finish(outputs);
  }

  /// Whether z > 0, of z where it is a negative by what it is the negative of: not whether that is > 0, or is < 0.
  Value whetherPositive(Value z, bool negative) {
    const Node of = builder_.peek().node(z);
    if ((opOf(of) == "Neg") == negative) return make("Not", {make("Not", {make("Relu", {z})})});
    const Value opposite = negative ? make("Neg", {z}) : of.operands[0];
    return make("Not", {make("Relu", {opposite})});
  }

  const Program& program_;
  const Unfolded* unfolded_;
  ProgramBuilder builder_;
  std::map<Value, Value> now_;

  Value make(std::string_view op, std::vector<Value> operands, Attributes attributes = {}) {
    auto made = builder_.add(op, std::move(operands), std::move(attributes));
    if (!made) throw Opaque(made.error().what);
    return *made;
  }

  void copy(const Node& node, int number, bool replaces = true) {
    std::vector<Value> x;
    for (Value v : node.operands)
      x.push_back(now_.at(v));
    auto other = !replaces ? std::nullopt : unfolded_ ? define(node, x) : compose(node, x);
    if (other) {
      now_[{number, 0}] = *other;
      return;
    }
    Value first;
    if (opOf(node) == "Input") {
      first = builder_.input(node.names[0], node.shapes[0], node.scalar("constant") == Expr(1));
    } else {
      auto made = builder_.add(*node.op, x, node.attributes, node.names);
      if (!made) throw Opaque(made.error().what);
      first = *made;
    }
    for (int o = 0; o < static_cast<int>(node.shapes.size()); ++o)
      now_[{number, o}] = {first.node, first.output + o};
  }

  std::optional<Value> define(const Node& node, const std::vector<Value>& x) {
    if (!isUnfolded(opOf(node))) return std::nullopt;
    if (opOf(node) == "Softplus" && isUnfolded("Tanh") && isOfTanh(node)) {
      wroteDefinitions = true;  // the Tanh's, which is of the Softplus; then this one
      return std::nullopt;
    }
    auto defined = Definitions(builder_).write(node, x);
    wroteDefinitions = wroteDefinitions || defined;
    return defined;
  }

  bool isUnfolded(std::string_view op) const {
    return std::find(unfolded_->begin(), unfolded_->end(), op) != unfolded_->end();
  }

  bool isOfTanh(const Node& node) const {
    return std::any_of(program_.nodes().begin(), program_.nodes().end(), [&](const Node& reader) {
      return opOf(reader) == "Tanh" && &program_.node(reader.operands[0]) == &node;
    });
  }

  std::optional<Value> compose(const Node& node, const std::vector<Value>& x) {
    std::string_view op = opOf(node);
    if (op == "Div") return make("Mul", {x[0], inverse(x[1])});
    if (op == "Where") {
      Value otherwise = make("Not", {x[0]}), holds = make("Not", {otherwise});
      return make("Add", {make("Select", {holds, x[1]}), make("Select", {otherwise, x[2]})});
    }
    if (op == "Greater") return greater(x[0], x[1]);
    if (op == "ArgMax") return whichOfTwo(node, x[0]);
    if (op == "OneHot")
      return whetherAt(x[0], node.shapes[0].size() - 1, node.scalar("depth"), node.scalar("negative") != Expr(0));
    if (op == "Lookup") return rowOf(x[0], x[1], node);
    if (op == "Softmax") {
      Value e = make("Exp", {x[0]});
      return make("Mul", {e, inverse(reduce("ReduceSum", e, {node.scalar("axis")}))});
    }
    if (op == "LogSoftmax")
      return make("Sub", {x[0], make("Log", {reduce("ReduceSum", make("Exp", {x[0]}), {node.scalar("axis")})})});
    if (op == "ReduceL2") return make("Sqrt", {make("ReduceSum", {square(x[0])}, node.attributes)});
    if (op == "Pow") return power(x[0], node.number("exponent"));
    if (op == "Exponential") return make("Exp", {make("Mul", {x[0], make("Log", {x[1]})})});
    if (op == "LRN") return make("Mul", {x[0], inverse(power(energy(x[0], node), node.number("beta")))});
    if (op == "BatchNormalization") {
      Value scale = make("Mul", {channels(x[1], node), channels(deviation(x[4], node), node)});
      return make("Add", {make("Mul", {make("Sub", {x[0], channels(x[3], node)}), scale}), channels(x[2], node)});
    }
    if (op == "InstanceNormalization") {
      Value z = make("Mul", {standard(x[0], 2, node), channels(x[1], node)});
      return make("Add", {z, channels(x[2], node)});
    }
    if (op == "LayerNormalization") {
      auto axis = node.scalar("axis").asConstant();
      if (!axis) throw Opaque("LayerNormalization along an unknown axis");
      Value z = make("Mul", {standard(x[0], *axis, node), x[1]});
      return x.size() > 2 ? make("Add", {z, x[2]}) : z;
    }
    if (op == "RMSNormalization") {
      auto axis = node.scalar("axis").asConstant();
      if (!axis) throw Opaque("RMSNormalization along an unknown axis");
      Value squares = reduce("ReduceMean", make("Square", {x[0]}), from(*axis, node.shapes[0].size()));
      return make("Mul", {make("Mul", {x[0], deviation(squares, node)}), x[1]});
    }
    return std::nullopt;
  }

  /// At d whether the index i is d, of 0 to depth - 1: whether 1 for each position below d, less i, is 0; or whether it
  /// is d - depth: whether 1 for each position from d on, and i, is.
  Value whetherAt(Value i, size_t axis, const Expr& depth, bool fromEnd) {
    const Value column = make("Unsqueeze", {i}, {{"axes", from(static_cast<int64_t>(axis), axis + 1)}});
    const std::vector<Expr> square{depth, depth};
    const Value those = fromEnd ? make("Band", {}, {{"shape", square}, {"lower", Expr(0)}, {"upper", depth}})
                                : make("Band", {}, {{"shape", square}, {"lower", depth}, {"upper", Expr(-1)}});
    const Value number = make("ReduceSum", {those}, {{"axes", from(1, 2)}, {"keepdims", Expr(0)}});
    return make("Not", {make(fromEnd ? "Add" : "Sub", {column, number})});
  }
  /// The row of the table with this index: in front the rows with the indices 0, 1, …, then one for what is no index,
  /// then those with the indices -negative, …, -1.
  Value rowOf(Value i, Value table, const Node& node) {
    const Expr behind = node.scalar("negative"), all = program_.shape(node.operands[1])[0].affine();
    const Expr front = all - behind - 1;
    const size_t axis = node.shapes[0].size() - 1;
    auto part = [&](const Expr& first, const Expr& end) {
      const std::vector<Expr> firsts{first}, ends{end};
      return make("Slice", {table}, {{"axes", from(0, 1)}, {"starts", firsts}, {"ends", ends}});
    };
    const Value one = make("Constant", {}, {{"value", 1.0}}), zero = make("Constant", {}, {{"value", 0.0}});
    Value left = one;
    auto chosen = [&](const Expr& first, const Expr& count, bool fromEnd) {
      const Value otherwise = make("Not", {whetherAt(i, axis, count, fromEnd)}), holds = make("Not", {otherwise});
      const Value at = make("Add", {make("Select", {holds, one}), make("Select", {otherwise, zero})});
      left = make("Sub", {left, reduce("ReduceSum", at, from(static_cast<int64_t>(axis), axis + 1))});
      return make("MatMul", {at, part(first, first + count)});
    };
    Value rows = chosen(0, front, false);
    if (behind != Expr(0)) rows = make("Add", {rows, chosen(front + 1, behind, true)});
    return make("Add", {rows, make("Mul", {left, part(front, front + 1)})});
  }
  Value greater(Value a, Value b) { return make("Not", {make("Not", {make("Relu", {make("Sub", {a, b})})})}); }
  /// Of two numbers along the axis 0 or 1, the number of the larger one: of equal ones the first or the last.
  Value whichOfTwo(const Node& node, Value x) {
    const std::vector<Expr> axis{node.scalar("axis")};
    if (program_.shape(node.operands[0])[static_cast<size_t>(Call::number(axis[0]))] != Dim(2))
      throw Opaque("ArgMax along an axis that has not the extent 2");
    auto part = [&](int64_t i) {
      return make("Slice", {x}, {{"axes", axis}, {"starts", std::vector<Expr>{i}}, {"ends", std::vector<Expr>{i + 1}}});
    };
    const Value front = part(0), back = part(1);
    const bool ofEqual = node.scalar("select_last_index") != Expr(0);
    const Value number = ofEqual ? make("Not", {greater(front, back)}) : greater(back, front);
    return node.scalar("keepdims") == Expr(0) ? make("Squeeze", {number}, {{"axes", axis}}) : number;
  }
  Value inverse(Value x) { return make("Reciprocal", {x}); }
  Value reduce(std::string_view op, Value x, std::vector<Expr> axes) {
    return make(op, {x}, {{"axes", std::move(axes)}, {"keepdims", Expr(1)}});
  }
  static std::vector<Expr> from(int64_t first, size_t end) {
    std::vector<Expr> axes;
    for (int64_t a = first; a < static_cast<int64_t>(end); ++a)
      axes.emplace_back(a);
    return axes;
  }
  /// z to the power of q / 4, -16 <= q <= 16: a product of those of z^4, z², z, its root and the root of that which q
  /// has as binary digits, in this order.
  Value power(Value z, double exponent) {
    const double q = std::abs(exponent) * 4;
    if (q == 0 || q > 16 || q != std::floor(q)) throw Opaque(fmt::format("the exponent {}", exponent));
    const auto digits = static_cast<unsigned>(q);
    std::optional<Value> product;
    auto multiply = [&](Value factor) { product = product ? make("Mul", {*product, factor}) : factor; };
    if ((digits & 16U) != 0) multiply(square(square(z)));
    if ((digits & 8U) != 0) multiply(square(z));
    if ((digits & 4U) != 0) multiply(z);
    if (digits % 4 != 0) {
      const Value root = make("Sqrt", {z});
      if ((digits & 2U) != 0) multiply(root);
      if ((digits & 1U) != 0) multiply(make("Sqrt", {root}));
    }
    return exponent < 0 ? inverse(*product) : *product;
  }
  Value square(Value z) { return make("Mul", {z, z}); }
  /// bias + alpha · the mean of squares over `size` channels around one's own, zeros outside; of an even size one more
  /// behind than in front.
  Value energy(Value z, const Node& node) {
    const Expr size = node.scalar("size"), below = floorDiv(size - 1, 2);
    const size_t windows = node.shapes[0].size() - 1;
    std::vector<Expr> kernel(windows, 1), pads(windows + windows, 0);
    kernel[0] = size;
    pads[0] = below;
    pads[windows] = size - 1 - below;
    Attributes window{{"kernel_shape", kernel}, {"pads", pads}, {"count_include_pad", Expr(1)}};
    const Attributes front{{"axes", from(1, 2)}};
    Value mean = make("Squeeze", {make("AveragePool", {make("Unsqueeze", {square(z)}, front)}, window)}, front);
    Value alpha = make("Constant", {}, {{"value", node.number("alpha")}});
    Value bias = make("Constant", {}, {{"value", node.number("bias")}});
    return make("Add", {make("Mul", {mean, alpha}), bias});
  }
  /// 1 / sqrt(variance + epsilon)
  Value deviation(Value variance, const Node& node) {
    Value epsilon = make("Constant", {}, {{"value", node.number("epsilon")}});
    return inverse(make("Sqrt", {make("Add", {variance, epsilon})}));
  }
  /// Mean 0 and variance 1 over the axes from `first` on.
  Value standard(Value x, int64_t first, const Node& node) {
    std::vector<Expr> axes = from(first, node.shapes[0].size());
    Value d = make("Sub", {x, reduce("ReduceMean", x, axes)});
    return make("Mul", {d, deviation(reduce("ReduceMean", make("Square", {d}), axes), node)});
  }
  /// [C] next to [N, C, …]: [C, 1, …]
  Value channels(Value x, const Node& node) {
    size_t rank = node.shapes[0].size();
    return rank == 2 ? x : make("Unsqueeze", {x}, {{"axes", from(1, rank - 1)}});
  }
};

}  // namespace

Expected<Program> expanded(const Program& program, const Unfolded& unfolded) {
  try {
    Program result = Expansion(program).run();
    bool hasDefinitions = !unfolded.empty();
    while (hasDefinitions) {  // those in definitions, too
      Expansion once(result, &unfolded);
      result = once.run();
      hasDefinitions = once.wroteDefinitions;
    }
    for (std::string_view sign : {"positive", "negative"}) {
      if (std::find(unfolded.begin(), unfolded.end(), sign) != unfolded.end())
        result = Expansion(result).gated(sign == "negative");
    }
    return result;
  } catch (const Opaque& e) {
    return fail(ErrorKind::kUnsupported, e.what());
  }
}

}  // namespace pet::check
