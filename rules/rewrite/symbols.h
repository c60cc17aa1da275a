#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

// What the symbols of a rule stand for in a program whose extents are symbolic as well.
namespace pet::rewrite {

/// Symbols of a rule -> dimensions of a program: C may be (G C).
using Symbols = std::map<std::string, Dim>;

/// "C=(G K) H=7".
std::string str(const Symbols& symbols);

/// Nullopt where a symbol has no value, or is a product where an affine value is needed.
std::optional<Expr> substitute(const Expr& e, const Symbols& by);
std::optional<Dim> substitute(const Dim& d, const Symbols& by);
std::optional<Attribute> substitute(const Attribute& a, const Symbols& by);

/// Constraints on the program's symbols that make `constraint` hold for these values; nullopt where there are none to
/// be found. A product that counts positively is at least its last atom where all of its atoms are at least 1.
std::optional<std::vector<Constraint>> sufficient(const Constraint& constraint, const Symbols& by);

/// Attributes with the axes of maps named by their places: equal texts mean equal attributes.
std::string canonicalText(const Attribute& a);

}  // namespace pet::rewrite
