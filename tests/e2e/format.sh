#!/usr/bin/env bash
# Every tracked C++ source is as clang-format writes it. To mend: git ls-files '*.cc' '*.h' | xargs clang-format -i
set -euo pipefail
cd "${PET_SOURCE:-$(dirname "$0")/../..}"
git ls-files -z '*.cc' '*.h' | xargs -0 -r clang-format --dry-run -Werror
