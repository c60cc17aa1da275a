#pragma once

#include <vector>

#include "applier/replace/instantiate.h"

namespace pet {

/// A rewrite as it is in a part of its view that holds its nodes.
Rewrite movedTo(const ViewPart& part, Rewrite rewrite);

/// The view with every site's nodes replaced. Sites do not overlap. The new nodes know their site, by its position in
/// `rewrites`.
View splice(const View& view, const std::vector<Rewrite>& rewrites);

}  // namespace pet
