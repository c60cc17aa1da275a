#!/usr/bin/env bash
# Installs what pet needs on Debian 12: system packages (as root or through sudo) and a Python environment in .venv.
# Quick when nothing changed: a stamp in .venv holds the hash of this file and of the pinned Python packages.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  # compilers and build tools
  g++ make cmake ninja-build ccache pkg-config clang-format clang-tidy
  # clang with its run-time library: sanitizers, libFuzzer
  clang libclang-rt-14-dev llvm
  # libraries: polyhedra, solver, packs, tools, engines
  libisl-dev libz3-dev
  libsqlite3-dev libsqlitecpp-dev libxxhash-dev libsodium-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev libexpected-dev libtbb-dev
  libprotobuf-dev protobuf-compiler libdnnl-dev
  # pet-synth on several machines
  openmpi-bin libopenmpi-dev
  # tests and benchmarks
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  git python3 python3-dev python3-venv
  # runs tools on processors without AVX
  qemu-user
  # looks at the page of a report
  chromium chromium-driver
)

has_cuda() { command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; }

inputs_hash() { { cat tools/setup.sh tools/requirements.txt; if has_cuda; then echo CUDA; fi; } | sha256sum | cut -d' ' -f1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || echo "$package"
  done
}

install_packages() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  (( ${#missing[@]} )) || return 0
  if (( EUID != 0 )); then
    command -v sudo >/dev/null || { echo "setup: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
}

# Debian's own interpreter: the same version on every machine, whatever else PATH offers.
make_venv() {
  [[ -x .venv/bin/python ]] || /usr/bin/python3 -m venv --clear .venv
  local install=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
  "${install[@]}" -r tools/requirements.txt
  # Headers over cuDNN's graph API, where CUDA is. What the package itself needs is for Python.
  if has_cuda; then "${install[@]}" --no-deps nvidia-cudnn-frontend==1.32.0; fi
}

stamp=.venv/setup.stamp
if [[ -f $stamp && "$(<"$stamp")" == "$(inputs_hash)" ]]; then
  exit 0
fi
install_packages
make_venv
inputs_hash > "$stamp"
echo "setup: done"
