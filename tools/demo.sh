#!/usr/bin/env bash
# From nothing to rewritten models: synthesise the pack, apply it to SRCNN and ResNet-18, compare with ONNX Runtime, time.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/bin demo=build/demo python=.venv/bin/python
mkdir -p "$demo"

step() { printf '\n== %s\n' "$*"; }

step "pet-synth --depth 4: enumerate, prove, correct, store"
if [ "$demo/rules.db" -nt "$bin/pet-synth" ]; then
  echo "$demo/rules.db is newer than pet-synth: kept"
else
  "$bin/pet-synth" --depth 4 -o "$demo/rules.db"
fi

step "A rule with boxes: two images side by side"
"$bin/pet-rules" show "$demo/rules.db" conv/n.in2-outer1_conv | sed '/proof {/,$d'

step "Models with seeded random weights"
"$python" tests/models/build.py "$demo" srcnn resnet18

for model in srcnn resnet18; do
  step "pet-apply $model.onnx rules.db: what is measured to pay"
  "$bin/pet-apply" "$demo/$model.onnx" "$demo/rules.db" -o "$demo/$model.pet.onnx"
  "$python" tests/models/compare.py "$demo/$model.onnx" "$demo/$model.pet.onnx"
  step "pet-apply $model.onnx rules.db --all: every site, whatever the gain"
  "$bin/pet-apply" "$demo/$model.onnx" "$demo/rules.db" --all -o "$demo/$model.all.onnx"
  "$python" tests/models/compare.py "$demo/$model.onnx" "$demo/$model.all.onnx"
done

step "Times on ONNX Runtime, one thread, original against default, interleaved"
"$python" bench/models.py --models srcnn,resnet18 --pack "$demo/rules.db"
