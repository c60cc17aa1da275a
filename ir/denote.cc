#include "ir/denote.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/common.h"
#include "ir/region.h"
#include "ir/sum.h"

namespace pet {
namespace {

using Conjunction = std::vector<Constraint>;

std::string textOf(const Attribute& a) {
  if (const auto* number = std::get_if<double>(&a)) return fmt::format("{}", *number);
  if (const auto* e = std::get_if<Expr>(&a)) return e->str();
  return std::get<std::string>(a);
}

/// The function that a node applies, with its attributes.
std::string functionKey(const Node& node) {
  std::string key(node.op->name);
  for (const AttributeSpec& spec : node.op->attributes)
    key += " " + textOf(node.attributes.find(spec.name)->second);
  return key;
}

std::vector<Expr> flat(const Index& at) {
  std::vector<Expr> digits;
  for (const auto& d : at)
    digits.insert(digits.end(), d.begin(), d.end());
  return digits;
}

std::map<std::string, Expr> named(const std::vector<std::string>& names, const std::vector<Expr>& values) {
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < names.size(); ++i)
    by.emplace(names[i], values[i]);
  return by;
}

Conjunction substitute(const Conjunction& all, const std::map<std::string, Expr>& by) {
  Conjunction result;
  for (const Constraint& c : all)
    result.push_back(c.substitute(by));
  return result;
}

/// The one factor of a sum that copies one value, and does nothing else; null otherwise.
const Factor* copied(const Sum& sum) {
  bool single = sum.pieces.size() == 1 && sum.isFinite() && sum.pieces[0].coefficient == Rational{1, 1} &&
                sum.pieces[0].reduction.empty() && sum.pieces[0].factors.size() == 1;
  return single ? &sum.pieces[0].factors[0] : nullptr;
}

class Denoter {
 public:
  Denoter(const Program& program, NameSource& names) : program_(program), names_(names) {
    auto inputs = program.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      inputNumber_[inputs[i].node] = static_cast<int>(i);
  }

  Expected<Denotation> run(Value output) {
    std::vector<std::string> index;
    for (const Dim& d : program_.shape(output)) {
      for (size_t a = 0; a < d.atoms().size(); ++a)
        index.push_back(fmt::format("v{}", index.size()));
    }
    auto [at, range] = positions(program_.shape(output), index);
    auto sum = sumAt(index, range, output, at);
    if (!sum) return tl::unexpected(sum.error());
    if (!sum->isFinite()) return fail(ErrorKind::kUnsupported, "an output that is -inf");
    result_.index = sum->index;
    result_.range = sum->range;
    result_.pieces = sum->pieces;
    return std::move(result_);
  }

 private:
  using Partials = std::vector<Partial>;

  /// What a value is under a function: 1 in `parts` (a mask), or the application there, 0 elsewhere.
  struct Applied {
    std::vector<std::string> index;
    Region parts;
    int application = -1;
    std::optional<Region> complement;  ///< of a mask's parts, where it is disjoint
  };

  const Program& program_;
  NameSource& names_;
  std::map<int, int> inputNumber_;
  std::map<std::pair<std::string, Value>, Applied> applied_;
  std::map<Value, int> largest_;
  Denotation result_;

  /// Digits of a position of a shape by name, and their ranges.
  static std::pair<Index, Conjunction> positions(const Shape& shape, const std::vector<std::string>& index) {
    std::pair<Index, Conjunction> result;
    size_t digit = 0;
    for (const Dim& d : shape) {
      result.first.emplace_back();
      for (size_t a = 0; a < d.atoms().size(); ++a)
        result.first.back().push_back(Expr::variable(index[digit++]));
    }
    requireInRange(result.first, shape, result.second);
    return result;
  }

  std::vector<std::string> freshIndex(const Shape& shape) {
    std::vector<std::string> index;
    for (const Dim& d : shape) {
      for (size_t a = 0; a < d.atoms().size(); ++a)
        index.push_back(names_.fresh("u"));
    }
    return index;
  }

  std::vector<Shape> operandShapes(const Node& node) const {
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program_.shape(v));
    return shapes;
  }

  Expected<std::vector<AccessPiece>> access(Value value, const Index& at) {
    const Node& node = program_.node(value);
    if (!node.op->access) {
      return fail(ErrorKind::kUnsupported, fmt::format("{} is not a sum of products of its operands", node.op->name));
    }
    auto shapes = operandShapes(node);
    return node.op->access({node.attributes, shapes, node.shapes}, value.output, at, names_);
  }

  Expected<Sum> sumAt(const std::vector<std::string>& index, const Conjunction& range, Value value, const Index& at) {
    Partial one;
    if (!one.require(range)) return Sum{index, range, {}};
    auto partials = multiply(one, value, at);
    if (!partials) return tl::unexpected(partials.error());
    return sumOf(index, range, std::move(*partials));
  }

  int keep(Sum sum) {
    result_.nested.push_back(std::move(sum));
    return static_cast<int>(result_.nested.size());
  }

  Factor factorOf(int application, std::vector<Expr> at) const {
    return {Factor::Kind::kApplication,
            application,
            result_.applications[static_cast<size_t>(application)].key,
            {},
            std::move(at)};
  }

  /// Multiplies a partial by value[at].
  Expected<Partials> multiply(const Partial& by, Value value, const Index& at) {
    const Node& node = program_.node(value);
    if (node.op->name == "Input") {
      Partial p = by;
      p.multiply({Factor::Kind::kInput, inputNumber_.at(value.node), "", {}, flat(at)});
      return Partials{std::move(p)};
    }
    if (node.op->meaning == Meaning::kFunction) return multiplyFunction(by, value, at);
    if (node.op->meaning == Meaning::kMaximum) {
      auto number = largest(value);
      if (!number) return tl::unexpected(number.error());
      Partial p = by;
      p.multiply(factorOf(*number, flat(at)));
      return Partials{std::move(p)};
    }
    auto pieces = access(value, at);
    if (!pieces) return tl::unexpected(pieces.error());
    Partials result;
    for (const AccessPiece& piece : *pieces) {
      Partial p = by;
      if (!p.multiply(piece)) continue;
      Partials product{std::move(p)};
      for (const OperandRead& read : piece.reads) {
        Partials next;
        for (const Partial& partial : product) {
          auto inlined = multiply(partial, node.operands[static_cast<size_t>(read.operand)], read.at);
          if (!inlined) return inlined;
          std::move(inlined->begin(), inlined->end(), std::back_inserter(next));
        }
        product = std::move(next);
      }
      std::move(product.begin(), product.end(), std::back_inserter(result));
    }
    return result;
  }

  Expected<Partials> multiplyFunction(const Partial& by, Value value, const Index& at) {
    const Node& node = program_.node(value);
    if (node.operands.size() == 1) return multiplyUnary(by, node, node.operands[0], at);
    auto applied = apply(functionKey(node), node.op->facts, program_.shape(value), node.operands, value);
    if (!applied) return tl::unexpected(applied.error());
    return multiplyApplied(by, **applied, at);
  }

  /// Times f(operand[at]). A function of a moved value is the moved value of the function: it is taken at the value
  /// that was computed, so that equal arguments look equal.
  Expected<Partials> multiplyUnary(const Partial& by, const Node& f, Value operand, const Index& at) {
    const Node& inner = program_.node(operand);
    const Facts& facts = f.op->facts;
    if (inner.op == f.op && facts.idempotent && inner.attributes == f.attributes) return multiply(by, operand, at);
    if (f.op->name == "Not" && inner.op == f.op) {
      Value mask = inner.operands[0];
      auto no = apply(functionKey(inner), facts, program_.shape(mask), {mask}, mask);
      if (!no) return tl::unexpected(no.error());
      if ((*no)->complement) {
        return multiplyApplied(by, {(*no)->index, *(*no)->complement, -1, std::nullopt}, at);
      }
    }
    if (!inner.op->layout) {
      auto applied = apply(functionKey(f), facts, program_.shape(operand), {operand}, operand);
      if (!applied) return tl::unexpected(applied.error());
      return multiplyApplied(by, **applied, at);
    }
    auto pieces = access(operand, at);
    if (!pieces) return tl::unexpected(pieces.error());
    Partials result;
    Region reached;
    for (const AccessPiece& piece : *pieces) {
      reached.push_back(piece.domain);
      Partial p = by;
      if (piece.minusInfinity) {
        if (!facts.ignoresMinusInfinity) return unsupported(fmt::format("{} of -inf", f.op->name));
        continue;
      }
      if (!p.multiply(piece)) continue;
      if (piece.reads.empty()) {
        p.coefficient = by.coefficient;
        p.multiply(constant(
            fmt::format("{} of {}/{}", functionKey(f), piece.coefficient.numerator, piece.coefficient.denominator)));
        result.push_back(std::move(p));
        continue;
      }
      auto moved = multiplyUnary(p, f, inner.operands[static_cast<size_t>(piece.reads[0].operand)], piece.reads[0].at);
      if (!moved) return moved;
      std::move(moved->begin(), moved->end(), std::back_inserter(result));
    }
    if (!inner.op->fills || facts.zeroPreserving) return result;
    auto rest = complement(reached, by.domain);
    if (!rest) return tl::unexpected(rest.error());
    for (const Conjunction& part : *rest) {
      Partial p = by;
      if (!p.require(part)) continue;
      p.multiply(constant(functionKey(f) + " of 0/1"));
      result.push_back(std::move(p));
    }
    return result;
  }

  static tl::unexpected<Error> unsupported(std::string what) { return fail(ErrorKind::kUnsupported, std::move(what)); }

  static Factor constant(std::string key) { return {Factor::Kind::kConstant, 0, std::move(key), {}, {}}; }

  Expected<Partials> multiplyApplied(const Partial& by, const Applied& applied, const Index& at) {
    auto digits = flat(at);
    auto where = named(applied.index, digits);
    Partials result;
    for (const Conjunction& part : applied.parts) {
      Partial p = by;
      if (!p.require(substitute(part, where))) continue;
      if (applied.application >= 0) p.multiply(factorOf(applied.application, digits));
      p.masked.reset();
      if (applied.complement && !by.masked) {
        p.masked = Partial::Masked{substitute(part, where), applied.parts.size(), {}};
        for (const Conjunction& holds : *applied.complement)
          p.masked->holds.push_back(substitute(holds, where));
      }
      result.push_back(std::move(p));
    }
    return result;
  }

  /// A function of operands that broadcast to `shape`, computed once for each `subject`.
  Expected<const Applied*> apply(const std::string& key,
                                 const Facts& facts,
                                 const Shape& shape,
                                 const std::vector<Value>& operands,
                                 Value subject) {
    auto known = applied_.find({key, subject});
    if (known != applied_.end()) return &known->second;
    Application a{key, facts, freshIndex(shape), {}, {}, {}};
    auto [at, range] = positions(shape, a.index);
    a.range = range;
    Applied result{a.index, {{}}, -1, std::nullopt};
    std::vector<Sum> arguments;
    for (Value operand : operands) {
      auto sum = sumAt(a.index, a.range, operand, broadcastIndex(program_.shape(operand), at));
      if (!sum) return tl::unexpected(sum.error());
      if (!sum->isFinite()) {
        if (!facts.ignoresMinusInfinity || operands.size() != 1) return unsupported(key + " of -inf");
        result.parts = sum->finite;
      }
      arguments.push_back(std::move(*sum));
    }
    const Factor* source = operands.size() == 1 ? copied(arguments[0]) : nullptr;
    if (key == "Not" && isMask(arguments[0])) {
      Region holds;
      for (const Piece& p : arguments[0].pieces)
        holds.push_back(p.domain);
      auto rest = complement(holds, a.range);
      if (!rest) return tl::unexpected(rest.error());
      result.parts = std::move(*rest);
      if (areDisjoint(holds)) result.complement = std::move(holds);
    } else if (source && facts.monotone && isLargestAt(*source, a.index)) {
      result.application = pushInto(a, *source);
    } else {
      for (Sum& argument : arguments)
        a.arguments.push_back(keep(std::move(argument)));
      result_.applications.push_back(std::move(a));
      result.application = static_cast<int>(result_.applications.size()) - 1;
    }
    return &applied_.emplace(std::pair(key, subject), std::move(result)).first->second;
  }

  /// 1 in some region, 0 elsewhere.
  static bool isMask(const Sum& sum) {
    return sum.isFinite() && std::all_of(sum.pieces.begin(), sum.pieces.end(), [](const Piece& p) {
             return p.factors.empty() && p.reduction.empty() && p.coefficient.numerator > 0;
           });
  }

  bool isLargestAt(const Factor& f, const std::vector<std::string>& index) const {
    if (f.kind != Factor::Kind::kApplication) return false;
    if (!result_.applications[static_cast<size_t>(f.number)].isMaximum()) return false;
    for (size_t i = 0; i < index.size(); ++i) {
      if (f.at[i] != Expr::variable(index[i])) return false;
    }
    return true;
  }

  /// f(max of some elements) = max of f(element), for a monotone f.
  int pushInto(const Application& f, const Factor& source) {
    const Application inner = result_.applications[static_cast<size_t>(source.number)];
    auto where = named(inner.index, source.at);
    Application result{"max", inner.facts, f.index, f.range, {}, {}};
    for (const Application::Alternative& alternative : inner.alternatives) {
      Application::Alternative moved = renamed(alternative, where);
      Sum element = elementAt(inner, alternative, f.index, moved);
      Application applied{f.key, f.facts, element.index, element.range, {}, {}};
      std::vector<Expr> at;
      for (const std::string& name : element.index)
        at.push_back(Expr::variable(name));
      Sum value{element.index, element.range, {}};
      applied.arguments = {keep(std::move(element))};
      result_.applications.push_back(std::move(applied));
      auto number = static_cast<int>(result_.applications.size()) - 1;
      value.pieces = {{{1, 1}, {}, value.range, {factorOf(number, std::move(at))}}};
      moved.element = keep(std::move(value));
      result.alternatives.push_back(std::move(moved));
    }
    result_.applications.push_back(std::move(result));
    return static_cast<int>(result_.applications.size()) - 1;
  }

  /// The alternative elsewhere, with reduction indices of its own.
  Application::Alternative renamed(const Application::Alternative& a, std::map<std::string, Expr>& where) {
    Application::Alternative result{{}, {}, a.element};
    for (const std::string& r : a.reduction) {
      result.reduction.push_back(names_.fresh(r.substr(0, r.find('_'))));
      where.insert_or_assign(r, Expr::variable(result.reduction.back()));
    }
    result.domain = substitute(a.domain, where);
    return result;
  }

  /// The element of a maximum's alternative over other digits: `index`, then those of `moved`, where `where` (of
  /// renamed()) has been applied to the alternative.
  Sum elementAt(const Application& maximum,
                const Application::Alternative& alternative,
                const std::vector<std::string>& index,
                const Application::Alternative& moved) {
    const Sum& element = result_.sum(alternative.element);
    std::map<std::string, Expr> where;
    for (size_t i = 0; i < maximum.index.size(); ++i)
      where.emplace(maximum.index[i], Expr::variable(index[i]));
    for (size_t i = 0; i < moved.reduction.size(); ++i)
      where.emplace(alternative.reduction[i], Expr::variable(moved.reduction[i]));
    Sum result{index, substitute(element.range, where), {}};
    result.index.insert(result.index.end(), moved.reduction.begin(), moved.reduction.end());
    for (Piece p : element.pieces) {
      for (std::string& r : p.reduction) {
        std::string fresh = names_.fresh(r.substr(0, r.find('_')));
        where.insert_or_assign(r, Expr::variable(fresh));
        r = fresh;
      }
      p.domain = substitute(p.domain, where);
      for (Factor& f : p.factors) {
        for (Expr& e : f.at)
          e = e.substitute(where);
      }
      result.pieces.push_back(std::move(p));
    }
    return result;
  }

  /// The application of a maximum.
  Expected<int> largest(Value value) {
    auto known = largest_.find(value);
    if (known != largest_.end()) return known->second;
    const Shape& shape = program_.shape(value);
    Application a{"max", program_.node(value).op->facts, freshIndex(shape), {}, {}, {}};
    auto [at, range] = positions(shape, a.index);
    a.range = range;
    auto pieces = access(value, at);
    if (!pieces) return tl::unexpected(pieces.error());
    for (const AccessPiece& piece : *pieces) {
      Partial p;
      if (!p.require(range) || !p.multiply(piece)) continue;
      auto ok = addAlternatives(a, p, program_.node(value).operands[0], piece.reads[0].at);
      if (!ok) return tl::unexpected(ok.error());
    }
    if (a.alternatives.empty()) return unsupported("a maximum of nothing");
    result_.applications.push_back(std::move(a));
    return largest_.emplace(value, static_cast<int>(result_.applications.size()) - 1).first->second;
  }

  /// The alternatives that value[at] stands for, where p's domain holds: through what only moves values, and through
  /// another maximum.
  Expected<void> addAlternatives(Application& a, const Partial& p, Value value, const Index& at) {
    const Node& node = program_.node(value);
    if (!node.op->layout) return addElement(a, p, value, at);
    auto pieces = access(value, at);
    if (!pieces) return tl::unexpected(pieces.error());
    Region reached;
    for (const AccessPiece& piece : *pieces) {
      reached.push_back(piece.domain);
      Partial q = p;
      if (piece.minusInfinity || !q.multiply(piece)) continue;
      if (piece.reads.empty()) return unsupported("a maximum over a pad with a number");
      auto ok = addAlternatives(a, q, node.operands[static_cast<size_t>(piece.reads[0].operand)], piece.reads[0].at);
      if (!ok) return ok;
    }
    return node.op->fills ? addZeros(a, p, reached) : Expected<void>();
  }

  /// Zero, wherever p holds and `reached` does not.
  Expected<void> addZeros(Application& a, const Partial& p, const Region& reached) {
    auto rest = complement(reached, p.domain);
    if (!rest) return tl::unexpected(rest.error());
    for (const Conjunction& part : *rest) {
      Partial q = p;
      if (!q.require(part)) continue;
      Sum zero{a.index, q.domain, {}};
      zero.index.insert(zero.index.end(), q.reduction.begin(), q.reduction.end());
      a.alternatives.push_back({q.reduction, q.domain, keep(std::move(zero))});
    }
    return {};
  }

  Expected<void> addElement(Application& a, const Partial& p, Value value, const Index& at) {
    std::vector<std::string> index = a.index;
    index.insert(index.end(), p.reduction.begin(), p.reduction.end());
    auto element = sumAt(index, p.domain, value, at);
    if (!element) return tl::unexpected(element.error());
    Region finite = element->finite;
    const Factor* source = copied(*element);
    bool nested = source && source->kind == Factor::Kind::kApplication &&
                  result_.applications[static_cast<size_t>(source->number)].isMaximum();
    if (nested) return flatten(a, p, *element, *source);
    int number = keep(std::move(*element));
    for (const Conjunction& part : finite) {
      Partial q = p;
      if (q.require(part)) a.alternatives.push_back({q.reduction, q.domain, number});
    }
    return {};
  }

  /// A maximum of maxima is one.
  Expected<void> flatten(Application& a, const Partial& p, const Sum& element, const Factor& source) {
    const Application inner = result_.applications[static_cast<size_t>(source.number)];
    auto zeros = addZeros(a, p, {element.pieces[0].domain});
    if (!zeros) return zeros;
    for (const Application::Alternative& alternative : inner.alternatives) {
      auto where = named(inner.index, source.at);
      Application::Alternative moved = renamed(alternative, where);
      Partial q = p;
      if (!q.require(element.pieces[0].domain) || !q.require(moved.domain)) continue;
      Sum value{a.index, {}, {}};
      value.index.insert(value.index.end(), p.reduction.begin(), p.reduction.end());
      value.index.insert(value.index.end(), moved.reduction.begin(), moved.reduction.end());
      q.reduction.insert(q.reduction.end(), moved.reduction.begin(), moved.reduction.end());
      value.range = q.domain;
      for (Piece piece : result_.sum(alternative.element).pieces) {
        for (std::string& r : piece.reduction) {
          std::string fresh = names_.fresh(r.substr(0, r.find('_')));
          where.insert_or_assign(r, Expr::variable(fresh));
          r = fresh;
        }
        Partial within = q;
        if (!within.require(substitute(piece.domain, where))) continue;
        piece.domain = within.domain;
        for (Factor& f : piece.factors) {
          for (Expr& e : f.at)
            e = e.substitute(where);
        }
        value.pieces.push_back(std::move(piece));
      }
      a.alternatives.push_back({q.reduction, q.domain, keep(std::move(value))});
    }
    return {};
  }
};

}  // namespace

Expected<Denotation> denote(const Program& program, Value output, NameSource& names) {
  // lower() keeps the order of outputs: a program with this one alone.
  auto position = std::find(program.outputs().begin(), program.outputs().end(), output) - program.outputs().begin();
  auto primitive = lower(program);
  if (!primitive) return tl::unexpected(primitive.error());
  return Denoter(*primitive, names).run(primitive->outputs()[static_cast<size_t>(position)]);
}

std::vector<Constraint> obligations(const Program& program) {
  const auto& nodes = program.nodes();
  // A value may be empty if all that it reaches, directly or through others, is a Concat: that operand is then left
  // out.
  std::vector<bool> mayBeEmpty(nodes.size(), true);
  for (Value v : program.outputs())
    mayBeEmpty[static_cast<size_t>(v.node)] = false;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].op->name == "Concat" || mayBeEmpty[i]) continue;
    for (Value v : nodes[i].operands)
      mayBeEmpty[static_cast<size_t>(v.node)] = false;
  }
  std::vector<Constraint> result;
  auto add = [&](const Constraint& c) {
    if (c.decided() != true && std::find(result.begin(), result.end(), c) == result.end()) result.push_back(c);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.op->name == "Input") continue;
    std::vector<Shape> operands;
    for (Value v : n.operands)
      operands.push_back(program.shape(v));
    if (n.op->obligations) {
      for (const Constraint& c : n.op->obligations({n.attributes, operands, n.shapes}))
        add(c);
    }
    for (const Shape& s : n.shapes) {
      for (const Dim& d : s) {
        for (const Expr& atom : d.atoms())
          add(Constraint::le(mayBeEmpty[i] ? 0 : 1, atom));
      }
    }
  }
  return result;
}

}  // namespace pet
