#include "rules/rewrite/idioms.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/ops/definition.h"
#include "ir/ops/op.h"
#include "ir/text.h"
#include "rules/rewrite/batch.h"
#include "rules/rewrite/bind.h"
#include "rules/rewrite/unify.h"

namespace pet::rewrite {
namespace {

constexpr double kHalf = 0.5, kRootOfHalf = 0.70710678118654752440;
constexpr double kSixth = 1.0 / 6;

constexpr std::string_view kLayerNorm =
    "x: [M, K]\ns: const [K]\na: const [K]\n"
    "y = LayerNormalization(x, s, a) axis=1";
constexpr std::string_view kScaledLayerNorm = "x: [M, K]\ns: const [K]\ny = LayerNormalization(x, s) axis=1";
constexpr std::string_view kRmsNorm = "x: [M, K]\ns: const [K]\ny = RMSNormalization(x, s) axis=1";
constexpr std::string_view kGelu = "x: [M, K]\ny = Gelu(x)", kTanhGelu = "x: [M, K]\ny = Gelu(x) approximate=tanh";
constexpr std::string_view kSwish = "x: [M, K]\ny = Swish(x)";
constexpr std::string_view kHardSwish = "x: [M, K]\ny = HardSwish(x)";

/// x times p, a gate, times a half: in the order in which exporters multiply.
void addHalved(const std::string& gate,
               std::string_view whole,
               const std::vector<Idiom::Number>& numbers,
               std::vector<Idiom>& into) {
  for (std::string_view product :
       {"t = Mul(x, p)\ny = Mul(t, half)", "t = Mul(x, half)\ny = Mul(t, p)", "t = Mul(p, half)\ny = Mul(x, t)"})
    into.push_back({gate + std::string(product), whole, numbers});
}

/// By a comparison with 0: x where it is positive, or not negative, and else something else. At 0 both are the same.
void addChoices(std::vector<Idiom>& into) {
  const std::string start = "x: [M, K]\nzero: const []\n";
  struct Comparison {
    std::string condition, choice;
  };
  for (const Comparison& by : {Comparison{"c = Greater(x, zero)\n", "y = Where(c, x, other)"},
                               Comparison{"c = Greater(zero, x)\n", "y = Where(c, other, x)"}}) {
    into.push_back({start + "other: const []\n" + by.condition + by.choice,
                    "x: [M, K]\ny = Relu(x)",
                    {{"zero", 0}, {"other", 0}}});
    into.push_back({start + "alpha: const []\nother = Mul(x, alpha)\n" + by.condition + by.choice,
                    "x: [M, K]\ny = LeakyRelu(x)",
                    {{"zero", 0}},
                    "alpha"});
    into.push_back({start + "other = Neg(x)\n" + by.condition + by.choice, "x: [M, K]\ny = Abs(x)", {{"zero", 0}}});
  }
  into.push_back(
      {start + "one: const []\nother: const []\nc = Greater(x, zero)\nt = Where(c, one, other)\ny = Mul(x, t)",
       "x: [M, K]\ny = Relu(x)",
       {{"zero", 0}, {"one", 1}, {"other", 0}}});
}

std::vector<Idiom> makeIdioms() {
  const std::string inputs = "x: [M, K]\ns: const [K]\nepsilon: const []\n", bias = "a: const [K]\n";
  const std::string deviation =
      "m = ReduceMean(x) axes=[1]\nd = Sub(x, m)\nq = Square(d)\nv = ReduceMean(q) axes=[1]\n"
      "e = Add(v, epsilon)\nr = Sqrt(e)\n";
  std::vector<Idiom> idioms;
  for (std::string_view scaled :
       {"n = Div(d, r)\nt = Mul(n, s)\n", "i = Reciprocal(r)\nn = Mul(d, i)\nt = Mul(n, s)\n"}) {
    const std::string pieces = deviation + std::string(scaled);
    idioms.push_back({inputs + pieces, kScaledLayerNorm, {}, "epsilon"});
    idioms.push_back({inputs + bias + pieces + "y = Add(t, a)", kLayerNorm, {}, "epsilon"});
  }
  // As TensorFlow and as Keras 3 write it.
  for (std::string_view shift : {"u = Mul(m, g)\nw = Sub(a, u)\n", "n = Neg(m)\nu = Mul(n, g)\nw = Add(u, a)\n"}) {
    idioms.push_back({inputs + bias + deviation + "i = Reciprocal(r)\ng = Mul(i, s)\nt = Mul(x, g)\n" +
                          std::string(shift) + "y = Add(t, w)",
                      kLayerNorm,
                      {},
                      "epsilon"});
  }
  const std::string root = "q = Square(x)\nv = ReduceMean(q) axes=[1]\ne = Add(v, epsilon)\nr = Sqrt(e)\n";
  for (std::string_view scaled : {"n = Div(x, r)\ny = Mul(n, s)", "i = Reciprocal(r)\nn = Mul(x, i)\ny = Mul(n, s)",
                                  "i = Reciprocal(r)\ng = Mul(i, s)\ny = Mul(x, g)"})
    idioms.push_back({inputs + root + std::string(scaled), kRmsNorm, {}, "epsilon"});
  addHalved("x: [M, K]\nc: const []\none: const []\nhalf: const []\nu = Mul(x, c)\ne = Erf(u)\np = Add(e, one)\n",
            kGelu, {{"c", kRootOfHalf}, {"one", 1}, {"half", kHalf}}, idioms);
  // The second as Bloom's own code has it.
  for (std::string_view bent : {"q = Square(x)\nk = Mul(q, x)\nl = Mul(k, b)\nu = Add(x, l)\nw = Mul(u, c)\n",
                                "v = Mul(x, c)\nk = Mul(x, b)\nl = Mul(k, x)\nu = Add(l, one)\nw = Mul(v, u)\n"}) {
    addHalved("x: [M, K]\nb: const []\nc: const []\none: const []\nhalf: const []\n" + std::string(bent) +
                  "h = Tanh(w)\np = Add(h, one)\n",
              kTanhGelu, {{"b", kGeluCubic}, {"c", kGeluScale}, {"one", 1}, {"half", kHalf}}, idioms);
  }
  idioms.push_back({"x: [M, K]\ng = Sigmoid(x)\ny = Mul(x, g)", kSwish});
  idioms.push_back(
      {"x: [M, K]\nalpha: const []\nu = Mul(x, alpha)\ng = Sigmoid(u)\ny = Mul(x, g)", kSwish, {}, "alpha"});
  idioms.push_back({"x: [M, K]\np = Softplus(x)\ng = Tanh(p)\ny = Mul(x, g)", "x: [M, K]\ny = Mish(x)"});
  const std::string clipped =
      "x: [M, K]\nthree: const []\nsixth: const []\nu = Add(x, three)\nc = Clip(u) min=0 max=6\n";
  const std::vector<Idiom::Number> threeAndSixth{{"three", 3}, {"sixth", kSixth}};
  idioms.push_back(
      {clipped + "y = Mul(c, sixth)", "x: [M, K]\ny = HardSigmoid(x) alpha=0.16666667 beta=0.5", threeAndSixth});
  idioms.push_back({"x: [M, K]\ng = HardSigmoid(x) alpha=0.16666667 beta=0.5\ny = Mul(x, g)", kHardSwish});
  idioms.push_back({clipped + "t = Mul(x, c)\ny = Mul(t, sixth)", kHardSwish, threeAndSixth});
  addChoices(idioms);
  return idioms;
}

/// An idiom with so many dimensions in front, in normal form.
struct Form {
  const Idiom* idiom;
  Program pieces, whole;
};

std::vector<Form> makeForms() {
  constexpr size_t kMostBatchDimensions = 5;
  std::vector<Form> forms;
  for (const Idiom& idiom : idioms()) {
    const Program pieces = parseProgram(idiom.pieces, "an idiom").value();
    const Program whole = parseProgram(idiom.whole, "an idiom").value();
    for (size_t count = 0; count <= kMostBatchDimensions; ++count) {
      forms.push_back({&idiom, inNormalForm(withBatchDimensions(pieces, count).value().program, Idioms::kAsTheyStand),
                       withBatchDimensions(whole, count).value().program});
    }
  }
  return forms;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = makeForms();
  return kForms;
}

/// One way in which a form's pieces stand in a program.
class Instance {
 public:
  Instance(NormalFormBuilder& builder, const Form& form, const Assignment& a)
      : builder_(builder), form_(form), assignment_(a) {}

  std::optional<Value> whole() const {
    if (!numbersFit()) return std::nullopt;
    const Node& node = form_.whole.node(form_.whole.outputs()[0]);
    std::vector<Value> operands;
    for (Value v : node.operands)
      operands.push_back(at(form_.whole.name(v)));
    Attributes attributes = node.attributes;
    if (!form_.idiom->attribute.empty()) {
      auto number = builder_.number(at(form_.idiom->attribute));
      if (!number) return std::nullopt;
      attributes.insert_or_assign(std::string(form_.idiom->attribute), number->value);
    }
    return builder_.node(*node.op, std::move(operands), std::move(attributes));
  }

 private:
  /// What an input of the pieces stands for.
  Value at(std::string_view input) const { return assignment_[static_cast<size_t>(form_.pieces.find(input)->node)]; }
  bool numbersFit() const {
    for (Value p : form_.pieces.inputs()) {
      bool isWeight = form_.pieces.node(p).scalar("constant") == Expr(1);
      if (isWeight && !builder_.isConstant(at(form_.pieces.name(p)))) return false;
    }
    return std::all_of(form_.idiom->numbers.begin(), form_.idiom->numbers.end(), [&](const Idiom::Number& wanted) {
      constexpr double kRoundings = 4;
      auto is = builder_.number(at(wanted.input));
      return is && std::abs(is->value - wanted.value) <= kRoundings * is->roundoff * wanted.value;
    });
  }

  NormalFormBuilder& builder_;
  const Form& form_;
  const Assignment& assignment_;
};

/// The symbols of a form where its operator is this node; nullopt where it is not.
std::optional<Symbols> symbolsWhere(const Form& form, const Program& program, const Node& node) {
  const Node& whole = form.whole.node(form.whole.outputs()[0]);
  if (whole.op != node.op || whole.operands.size() != node.operands.size()) return std::nullopt;
  for (const auto& [name, value] : whole.attributes) {
    if (name != form.idiom->attribute && node.attributes.find(name)->second != value) return std::nullopt;
  }
  std::vector<DimEquation> equations;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Shape &mine = form.whole.shape(whole.operands[i]), &theirs = program.shape(node.operands[i]);
    if (mine.size() != theirs.size()) return std::nullopt;
    for (size_t d = 0; d < mine.size(); ++d)
      equations.push_back({mine[d], theirs[d]});
  }
  auto solved = solve(equations);
  return solved ? std::optional(std::move(*solved)) : std::nullopt;
}

std::variant<size_t, double> inputOf(const Form& form, const Node& node, const std::string& name) {
  if (name == form.idiom->attribute) return node.number(name);
  for (const Idiom::Number& number : form.idiom->numbers) {
    if (number.input == name) return number.value;
  }
  const auto& operands = form.whole.node(form.whole.outputs()[0]).operands;
  auto it = std::find(operands.begin(), operands.end(), *form.whole.find(name));
  return static_cast<size_t>(it - operands.begin());
}

bool extentsFit(const Unification& unification, const Assignment& a) {
  auto equations = unification.equations(a);
  return equations && solve(*equations);
}

std::optional<Value> asForm(NormalFormBuilder& builder, Value root) {
  const Program& program = builder.program();
  const size_t rank = program.shape(root).size();
  for (const Form& form : forms()) {
    const Value last = form.pieces.outputs()[0];
    if (form.pieces.node(last).op != program.node(root).op || form.pieces.shape(last).size() != rank) continue;
    const Unification unification(form.pieces, program);
    std::vector<Assignment> ways;
    unification.unify(last, root, unification.none(), ways);
    for (const Assignment& a : ways) {
      if (!extentsFit(unification, a)) continue;
      if (auto whole = Instance(builder, form, a).whole()) return whole;
    }
  }
  return std::nullopt;
}

/// An operator that broadcasts, of what an operand is that is repeated first, where the other one's extents do it.
std::optional<Value> asBroadcast(NormalFormBuilder& builder, Value root) {
  constexpr OpName kBroadcast[] = {ops::kAdd, ops::kSub, ops::kMul, ops::kDiv};
  const Node& node = builder.program().node(root);
  if (std::none_of(std::begin(kBroadcast), std::end(kBroadcast), [&](const OpName& op) { return node.is(op); }))
    return std::nullopt;
  std::vector<Value> operands = node.operands;
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = withoutRepeats(builder, *node.op, node.attributes, operands, i, node.shapes[0]).value_or(operands[i]);
  if (operands == node.operands) return std::nullopt;
  return addNormalForm(builder, *node.op, std::move(operands), node.attributes);
}

}  // namespace

std::span<const Idiom> idioms() {
  static const std::vector<Idiom> kIdioms = makeIdioms();
  return kIdioms;
}

bool isLastOfIdiom(std::string_view op) {
  return std::any_of(forms().begin(), forms().end(),
                     [&](const Form& f) { return f.pieces.node(f.pieces.outputs()[0]).op->name == op; });
}

std::optional<Value> recognised(NormalFormBuilder& builder, Value root) {
  if (auto whole = asForm(builder, root)) return whole;
  auto broadcast = asBroadcast(builder, root);
  if (!broadcast) return std::nullopt;
  auto whole = asForm(builder, *broadcast);
  return whole ? whole : broadcast;
}

std::optional<Pieces> piecesOf(const Program& program, int node) {
  const Node& n = program.nodes()[static_cast<size_t>(node)];
  for (const Form& form : forms()) {
    auto symbols = symbolsWhere(form, program, n);
    auto pieces = symbols ? instantiate(form.pieces, *symbols) : fail(ErrorKind::kUnsupported, "another operator");
    if (!pieces) continue;
    Pieces result{std::move(*pieces), {}};
    for (Value v : form.pieces.inputs())
      result.inputs.push_back(inputOf(form, n, form.pieces.name(v)));
    return result;
  }
  return std::nullopt;
}

}  // namespace pet::rewrite
