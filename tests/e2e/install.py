#!/usr/bin/env python3
"""The applier, installed, moved, without the source tree, Python and a checker: rewrites a model with the default pack. What
it says where a part of it is missing, and which component has it; what it trusts; that the build of it alone needs none of the
rest. The other commands, installed beside it. Exit status 0 or 1.
"""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import _packs

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")).parent
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402

MOST_SECONDS = 10
MOST_BYTES = 17e6
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*command, **environment):
    """In an environment where nothing is to be found."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=280, cwd="/",
                          env={"PATH": "/proc/nonexistent", "HOME": "/proc/nonexistent", **environment})


def refuse(name, command, *words, **environment):
    done = run(*command, **environment)
    lines = done.stderr.splitlines()
    expect(name, done.returncode == 2 and len(lines) == 1 and all(word in lines[0] for word in words), (done.returncode, done.stderr))


def install_component(prefix, component):
    subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix), "--component", component, "--strip"], check=True, capture_output=True)


def install(folder):
    """The prefix, moved to another place."""
    install_component(folder / "first", "applier")
    prefix = folder / "moved to" / "another place"
    prefix.parent.mkdir()
    (folder / "first").rename(prefix)
    files = {str(p.relative_to(prefix)): p.stat().st_size for p in prefix.rglob("*") if p.is_file()}
    expect("what is installed", {"bin/pet-apply", "share/pet/default.db", *(f"share/pet/{device}.timings.jsonl" for device in ["ort-cpu", "openvino-cpu", "mnn-cpu", "onednn-cpu"]),
                                 *(f"share/pet/ort/{name}.py" for name in ["runner", "compared", "packages", "mnn_runner"])} <= set(files)
           and not any(name.endswith(".h") for name in files), sorted(files))
    expect("its size", sum(files.values()) < MOST_BYTES, files)
    print("\n".join(f"{size:9} {name}" for name, size in sorted(files.items())))
    return prefix


def first_try(prefix, model):
    """pet-apply MODEL, nothing else."""
    begin = time.monotonic()
    done = run(prefix / "bin" / "pet-apply", model, "--json", model.with_name("report.json"))
    seconds = time.monotonic() - begin
    expect("a first try", done.returncode == 0 and not done.stderr, (done.returncode, done.stderr))
    if failures:
        return
    report = json.loads(model.with_name("report.json").read_text())
    expect("a first try", report["fired"] and seconds < MOST_SECONDS, f"{seconds:.1f} s, {done.stdout}")
    expect("what is said of proofs", report["proofs"] == "checked-with-default-pack" and "the proofs when the default pack was made"
           in done.stdout, (report["proofs"], done.stdout))
    found = compare.compare(model, model.with_suffix(".pet.onnx"))
    expect("a first try", found.relative < 1e-4, f"differs by {found.relative}")
    print(f"{seconds:.1f} s, {len(report['fired'])} sites in {model.name}")
    expect("a command of another component", "\nNext: pet-bench " in done.stdout
           and "pet-bench is not installed here: it comes with pet's component 'tools'" in done.stdout, done.stdout)


def incomplete(prefix, model, folder):
    tool = prefix / "bin" / "pet-apply"
    alone = folder / "pet-apply"
    shutil.copy(tool, alone)
    for name, command in [("a copy of the binary", [alone, model]), ("and with a pack", [alone, model, prefix / "share/pet/default.db"])]:
        refuse(name, command, "the folder of pet's rules and timings is missing", "PET_SHARE")
    refuse("PET_SHARE names nothing", [tool, model], "the folder of pet's rules and timings is missing", "/proc/nonexistent", "unset it",
           PET_SHARE="/proc/nonexistent")
    refuse("a share folder without a pack", [tool, model], "default.db", "is missing", PET_SHARE=str(folder))
    done = run(alone, model, "-o", folder / "x.onnx", PET_SHARE=str(prefix / "share" / "pet"))
    expect("PET_SHARE", done.returncode == 0, done.stderr)


def other_pack(prefix, model, folder):
    """The default pack is trusted by its digest, wherever it lies; another one in its place is not."""
    pack, share = prefix / "share" / "pet" / "default.db", folder / "share"
    copy = folder / "copy.db"
    shutil.copy(pack, copy)
    done = run(prefix / "bin" / "pet-apply", model, copy, "-o", folder / "x.onnx")
    expect("a copy of the default pack", done.returncode == 0, done.stderr)
    shutil.copytree(pack.parent, share)
    with sqlite3.connect(share / "default.db") as db:
        db.execute("INSERT INTO metadata VALUES ('by', 'somebody else')")
        _packs.seal(db)
    db.close()
    refuse("another pack in its place", [prefix / "bin" / "pet-apply", model, "-o", folder / "y.onnx"], "no checker", "--trust-pack",
           PET_SHARE=str(share))


def tools(prefix, model, folder):
    """The other commands: what pet-apply names next works, and pet-synth finds its patterns."""
    install_component(prefix, "tools")
    bin_folder = prefix / "bin"
    python = {"PATH": f"{SOURCE / '.venv' / 'bin'}:/usr/bin:/bin"}
    done = run(bin_folder / "pet-apply", model, "-o", folder / "out.onnx")
    command = done.stdout.split("\nNext: ")[-1].strip()
    expect("the next command", command.startswith(f"'{bin_folder}/pet-bench' "), done.stdout)
    pasted = run("/bin/sh", "-c", f"{command} --budget 5", **python)
    expect("the next command", pasted.returncode == 0 and "WHOLE MODEL" in pasted.stdout, (pasted.stdout, pasted.stderr))
    matmul = prefix / "share" / "pet" / "patterns" / "matmul.pet"
    done = run(bin_folder / "pet-synth", "--depth", 2, matmul, "-o", folder / "matmul.db")
    expect("pet-synth", done.returncode == 0 and (folder / "matmul.db").exists(), done.stderr)
    done = run(bin_folder / "pet-synth", "--depth", 1, "--budget", "1s", "-o", folder / "some.db")
    expect("pet-synth finds its patterns", done.returncode == 0 and "conv3d" in done.stderr, done.stderr)
    done = run(bin_folder / "pet-rules", "verify", folder / "matmul.db")
    expect("pet-rules", done.returncode == 0 and " 0 refuted, 0 unknown" in done.stdout, (done.stdout, done.stderr))


def builds_alone(folder):
    """Configured for the applier, nothing of the rest is looked for or compiled."""
    proto = next(SOURCE.glob(".venv/lib/python3*/site-packages/onnx/onnx-ml.proto"))
    off = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ["TBB", "MPI", "OpenMP", "Python3", "spdlog", "GTest"]]
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(SOURCE), "-B", str(folder), "-DPET_COMPONENTS=applier",
                    f"-DPET_ONNX_PROTO={proto}", *off], check=True, capture_output=True)
    commands = subprocess.run(["ninja", "-C", str(folder), "-t", "commands", "all"], check=True, capture_output=True, text=True).stdout
    words = {word for word in ["/synth/", "/rules/check/", "/onednn/", "/tests/", "libisl", "libz3", "libdnnl", "libtbb", "python"]
             if word in commands.lower()}
    expect("the applier alone", not words and "pet-apply" in commands, words)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = build.build("srcnn", folder)
        prefix = install(folder)
        first_try(prefix, model)
        for part in [incomplete, other_pack, tools]:
            (folder / part.__name__).mkdir()
            part(prefix, model, folder / part.__name__)
        builds_alone(folder / "build")
    print("\n".join(failures) or "installs, moves, runs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
