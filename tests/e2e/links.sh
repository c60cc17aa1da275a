#!/usr/bin/env bash
# The applier links neither isl nor a solver, neither as a shared library nor by its symbols.
set -euo pipefail
applier="${PET_BIN:-build/bin}/pet-apply"
[[ -x $applier ]] || { echo "no $applier yet"; exit 77; }
if ldd "$applier" | grep -E 'lib(isl|z3)\.' || nm "$applier" | grep -E ' (isl|Z3)_'; then
  echo "$applier links what only pet-synth and pet-rules may" >&2
  exit 1
fi
