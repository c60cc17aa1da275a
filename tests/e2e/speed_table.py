#!/usr/bin/env python3
"""The tables of docs/speed.md, docs/zoo.md and docs/applier.md are what bench/speed_table.py makes of bench/results/. Exit status 0 or 1."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*arguments):
    done = subprocess.run([sys.executable, str(SOURCE / "bench" / "speed_table.py"), *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stderr


def check_gains():
    """docs/gains.md is of the timings that ship, and another page is noticed."""
    page, maker = SOURCE / "docs" / "gains.md", "import sys, pathlib; sys.path.insert(0, sys.argv.pop(1)); import gains_page; gains_page.PAGE = pathlib.Path(sys.argv.pop(1)); sys.exit(gains_page.main())"
    check = lambda path: subprocess.run([sys.executable, "-c", maker, str(SOURCE / "bench"), str(path), "--check"], capture_output=True, text=True)
    expect("docs/gains.md", check(page).returncode == 0, check(page).stderr)
    with tempfile.TemporaryDirectory() as folder:
        edited = pathlib.Path(folder, "gains.md")
        edited.write_text(page.read_text().replace("| `conv` | ", "| `conw` | "))
        done = check(edited)
        expect("docs/gains.md, edited", done.returncode == 1 and "bench/gains_page.py makes it" in done.stderr, done.stderr)


def main():
    check_gains()
    code, said = run("--check")
    expect("the documents", code == 0, said)
    for name, old, new in [("zoo.md", "| all | ", "| every | "), ("applier.md", "| large pack | 300 | ", "| large pack | 301 | ")]:
        with tempfile.TemporaryDirectory() as folder:
            edited, whole = pathlib.Path(folder, name), (SOURCE / "docs" / name).read_text()
            edited.write_text(whole.replace(old, new))
            code, said = run("--check", "--document", edited)
            expect(f"docs/{name}, edited", old in whole and code == 1 and "are not those of" in said, said)
            expect(f"docs/{name}, made again", run("--document", edited)[0] == 0 and edited.read_text() == whole, "differs")
    with tempfile.TemporaryDirectory() as folder:
        document, results = pathlib.Path(folder, "speed.md"), pathlib.Path(folder, "results")
        text = (SOURCE / "docs" / "speed.md").read_text()
        document.write_text(text.replace("| R3D-18, ", "| R4D-18, "))
        code, said = run("--check", "--document", document)
        expect("a table that was edited", code == 1 and "are not those of" in said, said)
        expect("made again", run("--document", document)[0] == 0 and document.read_text() == text, "differs")

        # A later measurement of one model replaces its row, and its row only.
        shutil.copytree(SOURCE / "bench" / "results", results)
        later = json.loads((results / "2026-11-29-ort-1.20.1.json").read_text())
        nin = later["models"]["nin"] | {"original": {"median": 0.0123}}
        later |= {"date": "2030-01-01", "commit": "abcdef0", "command": "", "models": {"nin": nin}}
        (results / "2030-01-01-ort.json").write_text(json.dumps(later))
        expect("a later result", run("--document", document, "--results", results)[0] == 0, "failed")
        changed = [line for line in document.read_text().splitlines() if line not in text.splitlines()]
        row, source = changed if len(changed) == 2 else ("", "")
        expect("a later result", "| 12.3 | 1.31 (" in row and "| abcdef0 |" in row and "2030-01-01" in source, str(changed))
        (results / "x.json").write_text(json.dumps({"table": "models", "models": {}}))
        code, said = run("--check", "--results", results)
        expect("a result without its commit", code == 1 and "lacks ['command', 'commit'" in said, said)
    print("\n".join(failures) or "the tables are those of the results")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
