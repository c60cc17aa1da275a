#pragma once

#include "synth/propose/generator.h"

namespace pet {

/// Of a pattern that is one operator which acts along axes (along_axes.h), or is composed of others of which one does
/// (inPieces(): LRN has an AveragePool): one axis after the other, in groups and in either order, each as itself, on a
/// view with fewer dimensions or with the axis behind all others, or as a product with its matrix. The matrix of a
/// linear operator along an axis is what the operator makes of the unit matrix, so nothing about the operator need be
/// known for it (docs/search-space.md, One axis at a time). A unit for each way.
MadeGenerator axesGenerator(const Pattern& pattern);

}  // namespace pet
