#!/usr/bin/env bash
# Makes the environments of engines that pet can time besides the ones it comes with: .engines/NAME from NAME.txt beside
# this file. Quick when nothing changed: a stamp holds the hash of the pinned packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

for pinned in tools/engines/*.txt; do
  name=$(basename "$pinned" .txt)
  environment=.engines/$name
  hash=$(sha256sum < "$pinned")
  if [[ -f $environment/setup.stamp && "$(<"$environment/setup.stamp")" == "$hash" ]]; then
    continue
  fi
  [[ -x $environment/bin/python ]] || /usr/bin/python3 -m venv --clear "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$pinned"
  echo "$hash" > "$environment/setup.stamp"
  echo "engines: $name is ready"
done
