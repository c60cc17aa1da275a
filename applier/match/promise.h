#pragma once

#include <optional>
#include <string>

#include "applier/view/model_sizes.h"
#include "rules/rewrite/symbols.h"
#include "rules/rule.h"

// What a user could promise of the extents that a model leaves open (--assume).
namespace pet {

/// The promises with which a rule's class holds where the pattern's symbols have these values, as --assume reads them:
/// "batch % 2 == 0, 3 <= seq". Nullopt: no promise of that form is found to do.
std::optional<std::string> promiseFor(const Rule& rule, const rewrite::Symbols& pattern, const ModelSizes& sizes);
/// The same for a class whose symbols have these values.
std::optional<std::string> promiseFor(const ShapeClass& shapes, const rewrite::Symbols& bound, const ModelSizes& sizes);

}  // namespace pet
