#!/usr/bin/env bash
# Every tracked C++ source is as clang-format writes it (to mend: git ls-files '*.cc' '*.h' | xargs clang-format -i), and no
# Python source has what can only be a mistake: a name that is not there, an import that nothing reads, a key that comes twice.
set -euo pipefail
cd "${PET_SOURCE:-$(dirname "$0")/../..}"
git ls-files -z '*.cc' '*.h' | xargs -0 -r clang-format --dry-run -Werror
git ls-files -z '*.py' | xargs -0 -r .venv/bin/ruff check --quiet --isolated --no-cache --select F,E9
