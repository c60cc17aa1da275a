#!/usr/bin/env python3
"""The library, installed and moved: the examples are compiled against it alone, rewrite a model as pet-apply does and run it; errors
are one line; nothing but the C interface is exported. Exit status 0 or 1.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from pack import BIN, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=280)


def must(*command):
    done = run(*command)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def install(folder):
    must("cmake", "--install", BIN.parent, "--prefix", folder / "first", "--component", "library")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def compile_examples(prefix, folder):
    """A copy, so that nothing of the source tree is near."""
    for file in (SOURCE / "examples").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    must("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug",
         "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    must("cmake", "--build", folder / "build")
    return folder / "build"


def rewrites(examples, model, folder):
    """As the tool does."""
    must(BIN / "pet-apply", model, "--min-gain", "1.1", "-q", "-o", folder / "tool.onnx")
    wanted = (folder / "tool.onnx").read_bytes()
    said = must(examples / "rewrite_c", model, folder / "c.onnx")
    expect("C", (folder / "c.onnx").read_bytes() == wanted, "other bytes than pet-apply's")
    expect("C", said.startswith(f"{folder / 'c.onnx'} was written\n") and json.loads(said.split("\n", 1)[1])["fired"], said)
    said = must(examples / "rewrite_cpp", model, folder / "cpp.onnx", "min-gain=1.1")
    expect("C++", (folder / "cpp.onnx").read_bytes() == wanted and json.loads(said)["fired"], said)
    must(examples / "rewrite_cpp", model, folder / "dry.onnx", "dry-run")
    expect("a dry run", (folder / "dry.onnx").read_bytes() == model.read_bytes(), "changes the model")


def runs(examples, model, folder):
    """A session, on a model of known and of open extents."""
    import numpy as np
    import onnx
    import onnxruntime

    opened = onnx.load(model)
    for value in [*opened.graph.input, *opened.graph.output]:
        for d in (2, 3):
            value.type.tensor_type.shape.dim[d].dim_param = f"{value.name}{d}"
    onnx.save(opened, folder / "open.onnx")
    for path, words, extent in [(model, [], None), (folder / "open.onnx", ["20"], 20)]:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (given,) = session.get_inputs()
        shape = [e if isinstance(e, int) else extent for e in given.shape]
        (wanted,) = session.run(None, {given.name: np.ones(shape, np.float32)})
        name, count, total = must(examples / "run_cpp", path, *words).split()
        near = abs(float(total) - wanted.astype(np.float64).sum()) <= 1e-4 * np.abs(wanted).sum()
        expect("run_cpp", name == session.get_outputs()[0].name and int(count) == wanted.size and near, (name, count, total, wanted.sum()))
    done = run(examples / "run_cpp", folder / "none.onnx")
    expect("run_cpp of no model", done.returncode == 3 and "none.onnx" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


# (options of rewrite_cpp, exit code, part of the line)
WRONG = [
    (["no-such"], 2, "--no-such"),
    (["min-gian=2"], 2, "did you mean '--min-gain'?"),
    (["only=conv/none"], 2, "--only conv/none: the pack has no rule of that name"),
    (["min-gain=much"], 2, "--min-gain"),
    (["types"], 2, "is an option of the command alone"),
    (["output=x.onnx"], 2, "--output is for models in files"),
    (["x.onnx"], 2, "--x.onnx"),
    (["timings=/nonexistent"], 4, "/nonexistent"),
]


def refuses(examples, model, folder):
    output = folder / "wrong.onnx"
    bad = folder / "bad.onnx"
    bad.write_bytes(b"no model")
    cases = [([examples / "rewrite_cpp", model, output, *options], code, word) for options, code, word in WRONG]
    cases += [([examples / "rewrite_cpp", bad, output], 3, "model.onnx"), ([examples / "rewrite_c", bad, output], 3, "bad.onnx"),
              ([examples / "rewrite_c", folder / "none.onnx", output], 3, "none.onnx")]
    for command, code, word in cases:
        done = run(*command)
        lines = done.stderr.splitlines()
        expect(" ".join(map(str, command[1:])), done.returncode == code and len(lines) == 1 and word in lines[0] and not output.exists(),
               (done.returncode, done.stdout, done.stderr))
    for option in ["no-such", "min-gian=2", "min-gain=much", "seed=-1", "only=conv/none", "device=ort-cup", "timings=/nonexistent"]:
        library, tool = run(examples / "rewrite_cpp", model, output, option), run(BIN / "pet-apply", model, f"--{option}")
        expect(f"{option}: as the command says it", f"pet-apply: {library.stderr}" == tool.stderr.replace(str(model), "model.onnx") and library.returncode == tool.returncode,
               (library.stderr, tool.stderr))


def exports(prefix):
    listed = must("nm", "-D", "--defined-only", "--format=posix", next((prefix / "lib").glob("libpet.so")))
    names = {line.split()[0].split("@")[0] for line in listed.splitlines()} - {"PET_0"}
    declared = set(re.findall(r"\b(pet_\w+)\(", (SOURCE / "include" / "pet" / "pet.h").read_text()))
    expect("what is exported", names == declared, names ^ declared)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = install(folder)
        exports(prefix)
        (folder / "examples").mkdir()
        examples = compile_examples(prefix, folder / "examples")
        model = build.build("srcnn", folder)
        rewrites(examples, model, folder)
        refuses(examples, model, folder)
        runs(examples, model, folder)
    print("\n".join(failures) or "the examples rewrite as pet-apply does")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
