#pragma once

#include <string>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// Calls as text, in one line with all that a plan depends on: calls that differ have texts that do. Part of a format:
/// docs/command-line.md, pet-run, says what is kept by these.
std::string problemOf(const ConvCall& call, Precision precision);
std::string problemOf(const ProductCall& call, Precision precision);
std::string problemOf(const AttentionCall& call, Precision precision);
std::string problemOf(const PoolCall& call, Precision precision);
std::string problemOf(const NormCall& call, Precision precision);

/// How many elements a call's pointers point to, in their order.
std::vector<int64_t> elementsOf(const ConvCall& call);
std::vector<int64_t> elementsOf(const ProductCall& call);
std::vector<int64_t> elementsOf(const AttentionCall& call);
std::vector<int64_t> elementsOf(const PoolCall& call);
std::vector<int64_t> elementsOf(const NormCall& call);

}  // namespace pet::cuda
