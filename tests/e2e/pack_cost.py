#!/usr/bin/env python3
"""pet-apply without its check takes time linear in the nodes: the models of bench/apply_cost.py with 5,000 and 20,000 nodes, by
the processor's seconds. Exit status 0 or 1.

The bound is loose, since other tests run beside it: work that is quadratic in any part of the model would take four times as
long for each node. bench/apply_cost.py measures it up to 50,000 nodes.
"""

import pathlib
import sys
import tempfile

from pack import BIN, SOURCE, made

sys.path.insert(0, str(SOURCE / "bench"))  # tests/e2e has a module models, too
import apply_cost  # noqa: E402

FEW, MANY, MOST = 5_000, 20_000, 2.0


def main():
    pack, seconds = made(), {}
    with tempfile.TemporaryDirectory() as folder:
        for nodes in [FEW, MANY]:
            model = apply_cost.made(pathlib.Path(folder, f"{nodes}.onnx"), nodes, 8, 8)
            seconds[nodes] = min(apply_cost.run(BIN, model, pack, [], 120)[0] for _ in range(2))
    each = {nodes: 1e6 * taken / nodes for nodes, taken in seconds.items()}
    print(", ".join(f"{nodes} nodes: {taken:.2f} s, {each[nodes]:.0f} us each" for nodes, taken in seconds.items()))
    return 0 if each[MANY] < MOST * each[FEW] else 1


if __name__ == "__main__":
    sys.exit(main())
