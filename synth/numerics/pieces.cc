#include "synth/numerics/pieces.h"

#include <charconv>
#include <cmath>

namespace pet {

std::optional<Denotation> denotationOf(const Program& program, Value value) {
  NameSource names;
  auto d = denote(ProgramBuilder(program).finish({value}), value, names);
  return d ? std::optional(std::move(*d)) : std::nullopt;
}

std::optional<double> numberOf(const Factor& f) {
  if (f.kind != Factor::Kind::kConstant || !f.at.empty() || !f.parameters.empty()) return std::nullopt;
  double number = 0;
  const char* last = f.key.data() + f.key.size();
  auto [end, error] = std::from_chars(f.key.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

double magnitudeOf(const Piece& piece) {
  double result =
      std::abs(static_cast<double>(piece.coefficient.numerator)) / static_cast<double>(piece.coefficient.denominator);
  for (const Factor& f : piece.factors)
    result *= std::abs(numberOf(f).value_or(1));
  return result;
}

}  // namespace pet
