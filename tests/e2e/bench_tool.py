#!/usr/bin/env python3
"""pet-bench on the real engine with small models, and with runners that misbehave. Exit status 0 or 1; 77 without the engine."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401, the runner's
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(missing)
    sys.exit(77)

from tune import BIN, GOOD, RUNNER, SOURCE, fake

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def call(tool, *arguments):
    return subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def bench(*arguments):
    python = [] if "--python" in arguments else ["--python", sys.executable]
    return call("pet-bench", *arguments, *python)


def floats(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def chain(path, scale=1.0, reads="x"):
    """Neg, Conv, Relu, Conv, Neg; batch 2."""
    nodes = [helper.make_node("Neg", [reads], ["n"], name="first"),
             helper.make_node("Conv", ["n", "v", "b"], ["p"], name="conv1", pads=[1] * 4),
             helper.make_node("Relu", ["p"], ["r"], name="relu1"),
             helper.make_node("Conv", ["r", "w"], ["s"], name="conv2", pads=[1] * 4),
             helper.make_node("Neg", ["s"], ["y"], name="last")]
    constants = {"v": scale * floats(8, 4, 3, 3), "b": floats(8), "w": floats(4, 8, 3, 3)}
    shape = [2, 4, 12, 10]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info(reads, TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def rewritten(folder, model, name, *arguments):
    """The model with the rules of tests/data/NAME.pet."""
    pack, output = folder / f"{name}.db", folder / f"{model.stem}.{name}.onnx"
    for done in [call("pet-rules", "import", SOURCE / "tests" / "data" / f"{name}.pet", "-o", pack),
                 call("pet-apply", model, pack, "--all", "-o", output, *arguments)]:
        if done.returncode:
            sys.exit(done.stderr)
    return output


# ---- the real engine

def check_figures(name, figures, both=True):
    """Medians and ratios are those of the samples."""
    variants = ["original", "rewritten"] if both else ["original"]
    for variant in variants:
        times = figures[variant]
        expect(name, len(times["samples"]) >= 3 and min(times["samples"]) > 0, f"{variant}: {times}")
        said = [times[q] for q in ["median", "p10", "p90"]]
        expect(name, np.allclose(said, np.quantile(times["samples"], [0.5, 0.1, 0.9])), f"{variant}: {times}")
    expect(name, figures["control"]["of_medians"] > 0, figures["control"])
    if both:
        ratio, samples = figures["ratio"], [figures[v]["samples"] for v in variants]
        expect(name, np.isclose(ratio["of_medians"], np.median(samples[0]) / np.median(samples[1])), ratio)
        paired = np.quantile(np.divide(*samples), [0.5, 0.1, 0.9])
        expect(name, np.allclose([ratio[q] for q in ["paired", "p10", "p90"]], paired), ratio)
        expect(name, figures["relative_error"] < 1e-5, figures["relative_error"])


def check_cut(folder, stem, wanted):
    """Both models of a site are valid, take and give the same, and are made of these operators."""
    models = [onnx.load(folder / f"{stem}.{which}.onnx") for which in ["original", "rewritten"]]
    for model, types in zip(models, wanted):
        onnx.checker.check_model(model, full_check=True)
        expect(stem, [n.op_type for n in model.graph.node] == types.split(), [n.op_type for n in model.graph.node])
    expect(stem, models[0].graph.input == models[1].graph.input and models[0].graph.output == models[1].graph.output, "interfaces differ")


def check_sites(folder, model):
    """Each site by itself, between the neighbours that stayed and alone."""
    report, kept = folder / "sites.json", folder / "kept"
    done = bench(model, rewritten(folder, model, "conv"), "--runs", 5, "--budget", 2, "--json", report, "--keep", kept)
    expect("sites", done.returncode == 0 and not done.stderr, done.stderr)
    for words in ["onnxruntime", "A/A control", "rewritten", "conv/transposed"]:
        expect("sites", words in done.stdout, f"no {words} in {done.stdout}")
    found = json.loads(report.read_text())
    expect("sites", (found["engine"], found["threads"], found["cold"]) == ("onnxruntime", 1, False), found)
    check_figures("whole", found["whole"])
    expect("sites", [s["sites"] for s in found["sites"]] == [["conv1"], ["conv2"]], [s["sites"] for s in found["sites"]])
    for site in found["sites"]:
        expect("sites", site["rules"] == ["conv/transposed"] and site["nodes"] == site["sites"] and not site["note"], site)
        check_figures(site["sites"][0], site["context"])
        check_figures(site["sites"][0], site["bare"])
    check_cut(kept, "1", ["Neg Conv Relu", "Neg ConvTranspose Relu"])
    check_cut(kept, "1.bare", ["Conv", "ConvTranspose"])
    check_cut(kept, "2", ["Relu Conv Neg", "Relu ConvTranspose Neg"])


def check_joined(folder, model):
    """Layouts between neighbours are gone, so their sites are one, with the function that moved in front of the last layout; a second
    rule on the result of the first."""
    once = rewritten(folder, model, "pair")
    report = folder / "joined.json"
    done = bench(model, once, "--runs", 3, "--budget", 1, "--json", report)
    expect("joined", done.returncode == 0, done.stderr)
    (site,) = json.loads(report.read_text())["sites"]
    expect("joined", site["sites"] == ["conv1", "conv2"] and site["note"] == "2 sites, joined", site)
    expect("joined", site["nodes"] == ["conv1", "relu1", "conv2", "last"] and site["rules"] == ["conv/pair"], site)

    twice = rewritten(folder, once, "conv")
    done = bench(model, twice, "--runs", 3, "--budget", 1, "--json", "-")
    (site,) = json.loads(done.stdout)["sites"]
    expect("nested", site["rules"] == ["conv/pair", "conv/transposed"] and site["sites"] == ["conv1", "conv2"], site)


def check_wholes(folder, model):
    done = bench(model, "--runs", 3, "--budget", 1, "--json", "-")
    found = json.loads(done.stdout)  # and nothing else
    check_figures("alone", found["whole"], both=False)
    expect("alone", "rewritten" not in found["whole"] and "sites" not in found, found)
    again = rewritten(folder, model, "conv")
    done = bench(model, again, "--no-per-site", "--cold", "--runs", 3, "--budget", 1, "--json", "-")
    found = json.loads(done.stdout)
    expect("no sites", "sites" not in found and found["cold"] is True, found)
    done = bench(model, model, "--runs", 3, "--budget", 1)
    expect("equal", done.returncode == 0 and "No site differs." in done.stdout, done.stdout)
    done = bench(model, again, "--runs", 3, "--budget", 1e-6)
    expect("no budget", done.returncode == 0 and "not timed: the budget is spent" in done.stdout, done.stdout + done.stderr)
    done = bench(model, chain(folder / "other.onnx", scale=1.01), "--runs", 3, "--budget", 1)
    one_line("another function", done, 5, "other.onnx", "differ by")
    expect("another function", "outputs differ by" in done.stdout and "conv1" in done.stdout, done.stdout)


def check_onednn(folder, model):
    """Our own engine, where it is built."""
    if not (BIN / "pet-runner").is_file():
        return
    done = bench(model, rewritten(folder, model, "conv"), "--runner", "onednn", "--runs", 3, "--budget", 1, "--json", "-")
    expect("onednn", done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    expect("onednn", found["engine"] == "pet-onednn" and len(found["sites"]) == 2, found["engine"])
    check_figures("onednn", found["whole"])


# ---- what goes wrong

def one_line(name, done, code, *words):
    lines = done.stderr.splitlines()
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr!r}")
    expect(name, len(lines) == 1 and lines[0].startswith("pet-bench: ") and all(w in lines[0] for w in words), done.stderr)


# (what the fake runner does at a request of times, exit code, words of the message, words of the tables)
FAKES = [
    ("good", GOOD, 0, [], ["A/A control", "2000.000", "conv/transposed"]),
    ("dies", "sys.exit(9)", 6, ["dies.py", "ended with status 9"], []),
    ("is killed", "os.kill(os.getpid(), 11)", 6, ["signal 11"], []),
    ("hangs", "time.sleep(60)", 6, ["no answer in"], []),
    ("talks", "answer('fine, thank you')", 6, ["no JSON object", "fine, thank you"], []),
    ("no times", "answer({})", 6, ["times are none"], []),
    ("no samples", "answer(times(models, samples=[[]] * len(models)))", 6, ["times are none"], []),
    ("refuses", "answer({'error': 'not this one'})", 3, ["not this one"], []),
    ("late death", f"if count > 0: sys.exit(1)\n{GOOD}", 6, ["ended with status 1"], ["ended with status 1", "A/A control"]),
    ("dies once", f"if count == 1: sys.exit(1)\n{GOOD}", 0, [], ["ended with status 1"]),
    ("refuses a site", f"if count == 1: answer({{'error': 'not this one'}}); continue\n{GOOD}", 0, [], ["not this one"]),
    ("differs", "answer(times(models, max_abs_diff=[0.0, 0.0, 0.5]))", 5, ["differ by"], ["outputs differ by"]),
]


def check_fakes(folder, model):
    other = rewritten(folder, model, "conv")
    for name, body, code, words, shown in FAKES:
        runner = fake(folder, name, body)
        report = folder / f"{runner.stem}.json"
        done = bench(model, other, "--runner-path", runner, "--timeout", 0.5, "--budget", 0.5, "--json", report)
        if code:
            one_line(name, done, code, *words)
        else:
            expect(name, done.returncode == 0 and not done.stderr, done.stderr)
        expect(name, all(w in done.stdout for w in shown), done.stdout)
        expect(name, report.exists() == bool(shown), "a report, or none")


def check_usage(folder, model):
    text, torn = folder / "text.onnx", folder / "torn.onnx"
    text.write_text("not a model")
    torn.write_bytes(model.read_bytes()[:-50])
    runner = ["--runner-path", RUNNER]
    for name, code, words, arguments in [
        ("no model", 3, ["missing.onnx"], [folder / "missing.onnx", *runner]),
        ("no rewritten model", 3, ["missing.onnx"], [model, folder / "missing.onnx", *runner]),
        ("text", 3, ["text.onnx"], [text, *runner]),
        ("torn", 3, ["torn.onnx"], [model, torn, *runner]),
        ("other inputs", 3, ["inputs"], [model, chain(folder / "z.onnx", reads="z"), *runner, "--budget", 1]),
        ("no such runner", 2, ["abacus", "ort", "onednn"], [model, "--runner", "abacus"]),
        ("no onednn", 6, ["/no/such/runner", "cannot start"], [model, "--runner", "onednn", "--runner-path", "/no/such/runner"]),
        ("no python", 6, ["/no/such/python", "cannot start"], [model, "--python", "/no/such/python"]),
        ("no script", 6, ["missing.py", "No such file"], [model, "--runner-path", folder / "missing.py"]),
        ("report on a model", 2, ["is an input"], [model, *runner, "--json", model]),
        ("report nowhere", 2, ["nowhere"], [model, *runner, "--json", folder / "nowhere" / "report.json"]),
        ("sites nowhere", 2, ["nowhere"], [model, rewritten(folder, model, "conv"), *runner, "--keep", "/dev/null/nowhere", "--budget", 1]),
        ("few runs", 2, ["--runs"], [model, *runner, "--runs", 1]),
        ("no time", 2, ["--budget"], [model, *runner, "--budget", 0]),
        ("three models", 2, [], [model, model, model, *runner]),
    ]:
        one_line(name, bench(*arguments), code, *words)


def bench_models(*arguments):
    return subprocess.run([str(word) for word in [sys.executable, SOURCE / "bench" / "models.py", *arguments, "--pack", BIN.parent / "share" / "pet" / "default.db",
                                                  "--bin", BIN, "--runs", "3", "--minutes", "0.05"]], capture_output=True, text=True, timeout=200)


def check_models(folder, model):
    """bench/models.py has what pet-apply expected beside what was measured, of its own models and of files."""
    figures, files = folder / "models.json", folder / "files"
    done = bench_models("--models", "srcnn", "--json", figures)
    if done.returncode:
        expect("models.py", False, done.stdout + done.stderr)
        return
    head, _, row = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("|")]
    part = json.loads(figures.read_text())["models"]["srcnn"]["rewritten"]["default"]
    expect("models.py", part["expected"] > 1.05 and row[head.index("expected")] == f"{part['expected']:.3f}"
           and row[head.index("ratio")] == f"{part['ratio']['of_medians']:.3f}", done.stdout)
    files.mkdir()
    shutil.copy(model, files / "a.onnx")
    done = bench_models("--onnx", files, "--json", figures)
    report = json.loads(figures.read_text())
    expect("models.py --onnx", done.returncode == 0 and (report["table"], list(report["models"])) == ("exports", ["a"]), done.stdout + done.stderr)
    for arguments, words in [(("--models", "b"), "no model named b; there are a"), (("--families",), "--onnx takes the place of"),
                             (("--python", "/no/such/python"), "--python is for the models of ort-cpu")]:
        done = bench_models("--onnx", files, *arguments)
        expect("models.py --onnx", done.returncode == 2 and words in done.stderr, done.stderr)
    done = bench_models("--families", "--models", "matmul_diagonal", "--json", figures)
    report = json.loads(figures.read_text())
    equal = report["models"]["matmul_diagonal"].get("equal", {})
    expect("models.py --families", done.returncode == 0 and report["table"] == "families" and equal["ratio"]["of_medians"] > 2, done.stdout + done.stderr)
    other = folder / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    done = bench_models("--models", "srcnn", "--python", other, "--json", figures)
    report = json.loads(figures.read_text())
    expect("models.py --python", done.returncode == 0 and report["table"] == f"models_ort_{report['version'].replace('.', '_')}", done.stdout + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = chain(folder / "chain.onnx")
        for check in [check_sites, check_joined, check_wholes, check_onednn, check_fakes, check_usage, check_models]:
            check(folder, model)
    for failure in failures:
        print(f"bench_tool: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
