#include "rules/check/meaning/writer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ir/limits.h"

// Sums: values multiplied out until only inputs, applications and constants are left.
namespace pet::check {

Writer::Writer(const Program& program, Names& names, const Unfolded& unfolded)
    : program_(program), names_(names), unfolded_(unfolded) {
  for (Value v : program.inputs())
    inputs_.emplace(v.node, static_cast<int>(inputs_.size()));
  const auto& nodes = program.nodes();
  for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
    earliest_[n] = n;
    for (int e = 0; e < n && earliest_[n] == n; ++e) {
      if (isRepeated(nodes[static_cast<size_t>(e)], nodes[static_cast<size_t>(n)])) earliest_[n] = e;
    }
  }
}

bool Writer::isRepeated(const Node& a, const Node& b) const {
  if (opOf(a) != opOf(b) || opOf(a) == "Input" || a.operands.size() != b.operands.size()) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (earliest(a.operands[i]) != earliest(b.operands[i])) return false;
  }
  return a.attributes == b.attributes;
}

Meaning Writer::meaningOf(Value output) {
  std::vector<std::string> index;
  for (const Dim& d : program_.shape(output)) {
    for (size_t a = 0; a < d.atoms().size(); ++a)
      index.push_back(fmt::format("v{}", index.size()));
  }
  meaning_.sums.emplace_back();  // number 0, which is finished last
  Frame here = frame(program_.shape(output), std::move(index));
  Sum all = sum(here, output, here.at);
  if (!all.isFinite()) throw Opaque("an output that is -inf");
  if (isUnfolded("multiples")) repeatMultiples(all);
  meaning_.sums[0] = std::move(all);
  visit({output, here.at, {}, here.range, {}});
  return std::move(meaning_);
}

void Writer::spend(const Product& p) {
  if (p.factors.size() > kMostFactors) throw Opaque("a product of very many factors");
  work_ += 1 + p.factors.size() + p.domain.size() + p.reduction.size();
  if (work_ > kMostWork) throw Opaque("a sum of very many products");
}

Writer::Frame Writer::frame(const Shape& shape, std::vector<std::string> index) {
  Frame f{std::move(index), {}, {}};
  size_t digit = 0;
  for (const Dim& d : shape) {
    f.at.emplace_back();
    for (const Expr& atom : d.atoms()) {
      f.at.back().push_back(Expr::variable(f.index[digit++]));
      f.range.push_back(Constraint::le(0, f.at.back().back()));
      f.range.push_back(Constraint::lt(f.at.back().back(), atom));
    }
  }
  return f;
}

Writer::Frame Writer::freshFrame(const Shape& shape) {
  std::vector<std::string> index;
  for (const Dim& d : shape) {
    for (size_t a = 0; a < d.atoms().size(); ++a)
      index.push_back(names_.fresh("u"));
  }
  return frame(shape, std::move(index));
}

std::vector<Clause> Writer::relation(Value value, const Position& at) {
  const Node& node = program_.node(value);
  Relation of = relationOf(opOf(node));
  if (!of) throw Opaque(fmt::format("{} is not a sum of products of its operands", opOf(node)));
  return of(Call(program_, value), at, names_);
}

int Writer::keep(Sum sum) {
  meaning_.sums.push_back(std::move(sum));
  return static_cast<int>(meaning_.sums.size()) - 1;
}

int Writer::keep(Application application) {
  // The inverse of what is not negative is not negative.
  if (application.needs == Needs::kNotZero &&
      isNotNegative(meaning_, meaning_.sums[static_cast<size_t>(application.arguments[0])]))
    application.sign = Sign::kNotNegative;
  meaning_.applications.push_back(std::move(application));
  return static_cast<int>(meaning_.applications.size()) - 1;
}

Factor Writer::factor(int number, std::vector<Expr> at) const {
  return {Factor::Kind::kApplication, number, application(number).key, {}, std::move(at)};
}

bool Writer::mayBeMinusInfinity(Value value) {
  if (auto known = infinite_.find(value); known != infinite_.end()) return known->second;
  const Node& node = program_.node(value);
  std::string_view op = opOf(node);
  const Function* f = functionOf(op);
  bool isFilled = op == "Constant" || (op == "Pad" && node.text("mode") == "constant");
  bool result = isFilled && node.number("value") == -std::numeric_limits<double>::infinity();
  // A maximum is of something, or nothing is said of it.
  bool stops = isMaximum(op) || (f && f->dropsMinusInfinity);
  for (size_t i = 0; i < node.operands.size() && !stops; ++i)
    result = result || mayBeMinusInfinity(node.operands[i]);
  return infinite_.emplace(value, result).first->second;
}

Sum Writer::sum(const Frame& frame, Value value, const Position& at) {
  Product one;
  if (!one.require(frame.range)) return {frame.index, frame.range, {}};
  Products products = times(one, value, at);
  for (Product& p : products)
    cancelInverted(p);
  Sum result = normalForm(frame.index, frame.range, std::move(products));
  // Not(c) times Not(Not(c)) is 0.
  std::erase_if(result.pieces, [&](const Piece& p) {
    return std::any_of(p.factors.begin(), p.factors.end(), [&](const Factor& f) {
      return std::any_of(p.factors.begin(), p.factors.end(), [&](const Factor& c) { return isNotOf(f, c); });
    });
  });
  return result;
}

/// Both are values of Not, and f is Not of exactly that condition.
bool Writer::isNotOf(const Factor& f, const Factor& condition) const {
  for (const Factor* value : {&f, &condition}) {
    if (value->kind != Factor::Kind::kApplication || value->key != "Not") return false;
  }
  const Application& outer = application(f.number);
  const Sum& argument = meaning_.sums[static_cast<size_t>(outer.arguments[0])];
  if (argument.pieces.size() != 1 || !argument.isFinite()) return false;
  const Piece& read = argument.pieces[0];
  if (!read.reduction.empty() || read.factors.size() != 1 || read.domain.size() != outer.range.size()) return false;
  Factor inner = read.factors[0];
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < outer.index.size(); ++i)
    by.emplace(outer.index[i], f.at[i]);
  for (Expr& e : inner.at)
    e = e.substitute(by);
  return inner == condition;
}

Writer::Products Writer::times(const Product& product, Value value, const Position& at) {
  spend(product);
  const Node& node = program_.node(value);
  auto with = [&](Factor f) {
    Products result{product};
    result[0].factors.push_back(std::move(f));
    return result;
  };
  if (auto input = inputs_.find(value.node); input != inputs_.end())
    return with({.kind = Factor::Kind::kInput, .number = input->second, .at = flat(at)});
  if (isMaximum(opOf(node))) return with(factor(maximum(value), flat(at)));
  if (functionOf(opOf(node))) {
    if (node.operands.size() == 1) return timesFunction(product, node, node.operands[0], at);
    return timesImage(product, image(node, program_.shape(value), node.operands, value), at);
  }
  Products result;
  for (const Clause& clause : relation(value, at)) {
    for (const Read& read : clause.reads) {
      if (clause.reads.size() > 1 && opOf(node) != "Select" && mayBeMinusInfinity(node.operands[read.operand]))
        throw Opaque("-inf in a product");
    }
    spend(product);
    Product start = product;
    if (!start.take(clause)) continue;
    Products all{start};
    for (const Read& read : clause.reads) {
      Products next;
      for (const Product& p : all) {
        Products more = times(p, node.operands[read.operand], read.at);
        std::move(more.begin(), more.end(), std::back_inserter(next));
        if (next.size() > kMostPieces) throw Opaque("a sum of very many products");
      }
      all = std::move(next);
    }
    std::move(all.begin(), all.end(), std::back_inserter(result));
    if (result.size() > kMostPieces) throw Opaque("a sum of very many products");
  }
  return result;
}

Writer::Products Writer::timesFunction(const Product& product, const Node& f, Value argument, const Position& at) {
  const Node& inner = program_.node(argument);
  if (functionOf(opOf(f))->idempotent && inner.op == f.op && inner.attributes == f.attributes)
    return times(product, argument, at);
  if (opOf(f) == "Not" && opOf(inner) == "Not") {
    Value mask = inner.operands[0];
    // Not of Not of Not is Not.
    if (opOf(program_.node(mask)) == "Not") return timesFunction(product, f, program_.node(mask).operands[0], at);
    const Image& no = image(inner, program_.shape(mask), {mask}, mask);
    if (no.mask) return timesImage(product, {.index = no.index, .parts = *no.mask}, at);
  }
  if (onlyMoves(opOf(inner))) return timesMoved(product, f, argument, at);
  const Image& made = image(f, program_.shape(argument), {argument}, argument);
  Products result = timesImage(product, made, at);
  if (!made.plusArgument) return result;
  Products all = times(product, argument, at);
  std::move(result.begin(), result.end(), std::back_inserter(all));
  return all;
}

/// f of what an operator of layout moves.
Writer::Products Writer::timesMoved(const Product& product, const Node& node, Value argument, const Position& at) {
  const Function& f = *functionOf(opOf(node));
  const Node& mover = program_.node(argument);
  std::string key = keyOf(f, node);
  Products result;
  /// f of a number, and of constants besides.
  auto addNumber = [&](Product p, const Fraction& of, const std::vector<Factor>& constants) {
    auto value = constants.empty() ? valueOf(f, node, of) : std::nullopt;
    if (value) {
      p.coefficient = p.coefficient * *value;
    } else {
      p.factors.push_back({.kind = Factor::Kind::kConstant, .key = fmt::format("{} of {}", key, of.str())});
      for (const Factor& c : constants)
        p.factors.back().key += " " + c.key;
    }
    if (p.coefficient.over != 0) result.push_back(std::move(p));
  };
  std::vector<Conjunction> reached;
  for (Clause clause : relation(argument, at)) {
    reached.push_back(clause.domain);
    if (clause.minusInfinity && !f.dropsMinusInfinity) throw Opaque(fmt::format("{} of -inf", f.op));
    if (clause.minusInfinity) continue;
    spend(product);
    Product p = product;
    if (clause.reads.empty()) {
      if (!p.require(clause.domain)) continue;
      addNumber(p, clause.coefficient, clause.constants);
      continue;
    }
    if (!p.take(clause)) continue;
    Products more = timesFunction(p, node, mover.operands[clause.reads[0].operand], clause.reads[0].at);
    std::move(more.begin(), more.end(), std::back_inserter(result));
  }
  if (!fillsWithZeros(opOf(mover)) || f.keepsZero) return result;
  for (const Conjunction& rest : complement(reached, product.domain)) {
    Product p = product;
    if (p.require(rest)) addNumber(std::move(p), {0, 1}, {});
  }
  return result;
}

Writer::Products Writer::timesImage(const Product& product, const Image& image, const Position& at) const {
  std::vector<Expr> digits = flat(at);
  std::map<std::string, Expr> by;
  for (size_t i = 0; i < digits.size(); ++i)
    by.emplace(image.index[i], digits[i]);
  auto here = [&](Conjunction all) {
    for (Constraint& c : all)
      c = c.substitute(by);
    return all;
  };
  Products result;
  for (const Conjunction& part : image.parts) {
    Product p = product;
    if (!p.require(here(part))) continue;
    if (image.application && !image.isOne) p.factors.push_back(factor(*image.application, digits));
    for (Factor more : image.besides) {
      for (Expr& e : more.at)
        e = e.substitute(by);
      p.factors.push_back(std::move(more));
    }
    p.coefficient = p.coefficient * image.times;
    p.unmasked.reset();
    if (image.mask && !product.unmasked) {
      p.unmasked = Product::Unmasked{here(part), image.parts.size(), {}};
      for (const Conjunction& m : *image.mask)
        p.unmasked->mask.push_back(here(m));
    }
    result.push_back(std::move(p));
  }
  return result;
}

Expected<Meaning> meaningOf(const Program& program, size_t output, Names& names, const Unfolded& unfolded) {
  auto simple = expanded(program, unfolded);
  if (!simple) return tl::unexpected(simple.error());
  if (simple->nodes().size() > kMostNodes)
    return fail(ErrorKind::kUnsupported, fmt::format("a program of more than {} operators", kMostNodes));
  try {
    return Writer(*simple, names, unfolded).meaningOf(simple->outputs()[output]);
  } catch (const Opaque& e) {
    return fail(ErrorKind::kUnsupported, e.what());
  }
}

}  // namespace pet::check
