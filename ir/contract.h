#pragma once

#include "ir/sum.h"

// Tables of numbers inside a product. Private to the denotation.
namespace pet {

/// Sums out the reduction indices that only tables read, Σ_i A[o,i] B[i,j] = (A B)[o,j], and then puts conditions in
/// the place of tables: one product per value that an entry has, where the entries of this value are the points of a
/// box in some affine subspace (those of Winograd's transforms, once contracted: 1 where j = o + k). Other tables stay.
/// Complexity: linear in the entries of the contracted tables; tables with very many entries stay apart.
std::vector<Partial> contracted(Partial product);

}  // namespace pet
