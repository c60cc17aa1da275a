#include "rules/taso/substitutions.h"

#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "rules/taso/wire.h"

namespace pet::taso {
namespace {

constexpr const char* kAdvice = "not a file of TASO's substitutions, or a damaged one";

/// Reads messages by their layout. A field that the layout does not have is an error: it is another kind of file.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Expected<std::vector<Substitution>> rules(std::string_view bytes) const {
    std::vector<Substitution> result;
    PET_TRY(eachField({bytes, 0}, "a collection of rules", 0, [&](const WireField& f, const WireMessage& m) {
      return f.number == 1 ? append(result, rule(m)) : unknown(f, "a collection of rules");
    }));
    if (result.empty()) return fail(ErrorKind::kText, "no rule", std::string(file_), kAdvice);
    return result;
  }

 private:
  Expected<Substitution> rule(const WireMessage& message) const {
    Substitution s;
    PET_TRY(eachField(message, "a rule", 0, [&](const WireField& f, const WireMessage& m) -> Expected<void> {
      if (f.number == 1) return append(s.source, operation(m));
      if (f.number == 2) return append(s.target, operation(m));
      if (f.number == 3) return append(s.outputs, mappedOutput(m));
      return unknown(f, "a rule");
    }));
    return s;
  }

  Expected<Operator> operation(const WireMessage& message) const {
    Operator o;
    bool typed = false;
    PET_TRY(eachField(message, "an operator", 1, [&](const WireField& f, const WireMessage& m) -> Expected<void> {
      if (f.number == 1 && !typed) {
        typed = true;
        auto type = int32(f);
        if (type) o.type = *type;
        return type ? Expected<void>() : tl::unexpected(type.error());
      }
      if (f.number == 2) return append(o.inputs, tensor(m));
      if (f.number != 3) return unknown(f, "an operator");
      auto pair = numbers<2>(m, "a parameter");
      if (!pair) return tl::unexpected(pair.error());
      bool isNew = o.parameters.emplace((*pair)[0], (*pair)[1]).second;
      return isNew ? Expected<void>() : error(f.offset, fmt::format("parameter {} twice", (*pair)[0]));
    }));
    if (!typed) return error(message.offset, "an operator without a type");
    return o;
  }

  Expected<Tensor> tensor(const WireMessage& message) const {
    auto n = numbers<2>(message, "an operand");
    if (!n) return tl::unexpected(n.error());
    return Tensor{(*n)[0], (*n)[1]};
  }

  Expected<MappedOutput> mappedOutput(const WireMessage& message) const {
    auto n = numbers<4>(message, "a mapped output");
    if (!n) return tl::unexpected(n.error());
    return MappedOutput{(*n)[0], (*n)[1], (*n)[2], (*n)[3]};
  }

  /// A message of the fields 1 to N, each a number that stands there once.
  template <size_t N>
  Expected<std::array<int, N>> numbers(const WireMessage& message, const char* what) const {
    auto fields = wireFields(message, file_);
    if (!fields) return tl::unexpected(fields.error());
    std::array<int, N> result{};
    std::array<bool, N> given{};
    for (const WireField& f : *fields) {
      if (f.number > N || given[f.number - 1]) return unknown(f, what);
      auto value = int32(f);
      if (!value) return tl::unexpected(value.error());
      given[f.number - 1] = true;
      result[f.number - 1] = *value;
    }
    for (size_t i = 0; i < N; ++i) {
      if (!given[i]) return error(message.offset, fmt::format("{} without its field {}", what, i + 1));
    }
    return result;
  }

  /// Calls `take(field, message)` for each field. Field `number` is a number and comes with an empty message, all
  /// others are messages.
  template <class Take>
  Expected<void> eachField(const WireMessage& message, const char* what, uint32_t number, Take take) const {
    auto fields = wireFields(message, file_);
    if (!fields) return tl::unexpected(fields.error());
    for (const WireField& f : *fields) {
      bool isNumber = f.kind == WireField::Kind::kVarint;
      if (isNumber != (f.number == number)) return unknown(f, what);
      PET_TRY(take(f, isNumber ? WireMessage() : messageOf(message, f)));
    }
    return {};
  }

  template <class T>
  static Expected<void> append(std::vector<T>& into, Expected<T> value) {
    if (!value) return tl::unexpected(value.error());
    into.push_back(std::move(*value));
    return {};
  }

  /// An int32 is sent as the 64 bits of its sign extension.
  Expected<int> int32(const WireField& f) const {
    auto value = static_cast<int64_t>(f.varint);
    if (f.kind != WireField::Kind::kVarint || value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      return error(f.offset, "no 32-bit number");
    }
    return static_cast<int>(value);
  }

  tl::unexpected<Error> unknown(const WireField& f, const char* what) const {
    return error(f.offset, fmt::format("a field {} that {} does not have", f.number, what));
  }

  tl::unexpected<Error> error(size_t offset, std::string what) const {
    return fail(ErrorKind::kText, std::move(what), fmt::format("{}: byte {}", file_, offset), kAdvice);
  }

  std::string_view file_;
};

/// The first operand that is no earlier operator's; empty if there is none.
std::string brokenOperand(const std::vector<Operator>& side) {
  for (size_t i = 0; i < side.size(); ++i) {
    for (const Tensor& t : side[i].inputs) {
      if (t.op >= static_cast<int>(i))
        return fmt::format("operator {} reads operator {}, which is not before it", i, t.op);
      if (t.output < 0) return fmt::format("operator {} reads output {}", i, t.output);
    }
  }
  return "";
}

std::string brokenReference(const Substitution& s) {
  for (const auto* side : {&s.source, &s.target}) {
    if (auto broken = brokenOperand(*side); !broken.empty()) return broken;
  }
  if (s.outputs.empty()) return "no mapped output";
  auto exists = [](int op, const std::vector<Operator>& side) { return 0 <= op && op < static_cast<int>(side.size()); };
  for (const MappedOutput& m : s.outputs) {
    if (!exists(m.source, s.source) || !exists(m.target, s.target) || m.sourceOutput < 0 || m.targetOutput < 0) {
      return fmt::format("output {} of operator {} is to be output {} of operator {}: there is no such output",
                         m.sourceOutput, m.source, m.targetOutput, m.target);
    }
  }
  return "";
}

}  // namespace

Expected<std::vector<Substitution>> readSubstitutions(std::string_view bytes, std::string_view file) {
  auto rules = Reader(file).rules(bytes);
  if (!rules) return rules;
  for (size_t i = 0; i < rules->size(); ++i) {
    if (auto broken = brokenReference((*rules)[i]); !broken.empty()) {
      return fail(ErrorKind::kText, broken, fmt::format("{}: rule {}", file, i), kAdvice);
    }
  }
  return rules;
}

}  // namespace pet::taso
