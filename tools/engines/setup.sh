#!/usr/bin/env bash
# Makes the environments of engines that pet can time besides the ones it comes with: .engines/NAME from NAME.txt beside
# this file, of all of them or of those that are named. Quick when nothing changed: a stamp holds the hash of the pinned
# packages. What needs a program that is not here ("# needs: PROGRAM") is skipped; packages that are used without those that
# they ask for are installed so ("# alone: PACKAGE==VERSION…").
set -euo pipefail
cd "$(dirname "$0")/../.."

names=("$@")
if (( ${#names[@]} == 0 )); then
  for pinned in tools/engines/*.txt; do names+=("$(basename "$pinned" .txt)"); done
fi
for name in "${names[@]}"; do
  pinned=tools/engines/$name.txt
  if [[ ! -f $pinned ]]; then
    echo "engines: there is no $pinned" >&2
    exit 2
  fi
  needed=$(sed -n 's/^# needs: //p' "$pinned")
  if [[ -n $needed ]] && ! command -v "$needed" > /dev/null; then
    echo "engines: $name is skipped: there is no $needed here"
    continue
  fi
  environment=.engines/$name
  hash=$(sha256sum < "$pinned")
  if [[ -f $environment/setup.stamp && "$(<"$environment/setup.stamp")" == "$hash" ]]; then
    continue
  fi
  [[ -x $environment/bin/python ]] || /usr/bin/python3 -m venv --clear "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r "$pinned"
  read -ra alone < <(sed -n 's/^# alone: //p' "$pinned") || true
  (( ${#alone[@]} == 0 )) ||
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "${alone[@]}"
  echo "$hash" > "$environment/setup.stamp"
  echo "engines: $name is ready"
done
