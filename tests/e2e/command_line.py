#!/usr/bin/env python3
"""docs/command-line.md against what the tools print with --help: options, defaults, subcommands, exit codes. What names a file
may not be empty; an option with two values at once gets a hint.

Exit status 0 or 1; 77 where no tool is built.
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
PAGE = (SOURCE / "docs" / "command-line.md").read_text()
TOOLS = sorted(p.stem for p in (SOURCE / "tools").glob("pet-*.cc") if p.stem != "pet-synth-mpi")  # which nobody calls
COMMON = {"-h", "--help", "--version"}  # described once, for all

# Options with a text that names no file.
NO_FILES = {"--all", "--only", "--skip", "--site", "--bind", "--shape", "--assume", "--expect", "--device", "--precision", "--check", "--seed", "--max-rel-error",
            "--numerics", "--rules", "--shard", "--budget", "--memory", "--pass"}

OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def help_of(*command):
    done = subprocess.run([str(BIN / command[0]), *command[1:], "--help"], capture_output=True, text=True, timeout=60)
    if done.returncode or done.stderr:
        sys.exit(f"{' '.join(command)} --help: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def part(text, heading):
    """The lines under `Options:` and its like, to the next empty line."""
    found = re.search(rf"^{heading}:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def options(text):
    """Names of the options that a help text declares; an explanation is indented further."""
    return {o for line in part(text, "Options").splitlines() for o in OPTION.findall(line[:30].split("  ", 2)[1] if line[2:3] == "-" else "")}


def defaults(text):
    return dict(re.findall(r"^  (?:-\w,)?(--[\w-]+) \S*?=([^\s=]+)(?:\s|$)", part(text, "Options"), re.M))


def same(a, b):
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def codes(text):
    """The numbers after `Exit codes:`, each in front of its meaning."""
    return set(re.findall(r"(?:^|, )(\d) ", " ".join(text.split("Exit codes: ")[1].split()))) if "Exit codes: " in text else set()


def empty_names(*command):
    """Options of a command that take '' for the name of a file."""
    for line in part(help_of(*command), "Options").splitlines():
        name = re.match(r"  (?:-\w,)?(--[\w-]+) TEXT", line)
        if not name or name[1] in NO_FILES or (command[0], name[1]) in [("pet-bench", "--runner"), ("pet-rules", "--only"), ("pet-synth", "--explain")]:
            continue
        done = subprocess.run([str(BIN / command[0]), *command[1:], name[1], ""], capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or "names no file" not in done.stderr:
            yield f"{' '.join(command)} {name[1]} '': exit code {done.returncode}: {done.stdout}{done.stderr}"


def differences(tool):
    section = PAGE.split(f"\n## {tool}\n")
    if len(section) != 2:
        yield "has no section of its own"
        return
    section = section[1].split("\n## ")[0]
    synopsis = "".join(x + "\n" for x in section.split("\n\n") if x.lstrip("\n").startswith(f"    {tool}"))
    synopsis = re.sub(r"^    mpirun .*\n", "", synopsis, flags=re.M)  # its options are not the tool's
    texts = [help_of(tool)]
    subcommands = re.findall(r"^  ([\w-]+)", part(texts[0], "Subcommands"), re.M)
    texts += [help_of(tool, s) for s in subcommands]

    for command in [[tool], *([tool, s] for s in subcommands)]:
        yield from empty_names(*command)

    there = set().union(*map(options, texts))
    table = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("|"))
    named = set(OPTION.findall(synopsis)) | set(OPTION.findall(table))
    for option in sorted(there - COMMON - set(OPTION.findall(section))):
        yield f"{option} is not described"
    for option in sorted(named - there):
        yield f"{option} is described and does not exist"
    for text in texts:
        for option, value in defaults(text).items():
            said = re.search(rf"\[{option} ([^\]|]+)[\]|]", synopsis)
            if said and not said.group(1).isupper() and not same(said.group(1), value):
                yield f"{option} is {value} by default, not {said.group(1)}"
        for positional in re.findall(r"^  ([A-Z]+)", part(text, "Positionals"), re.M):
            if positional not in synopsis:
                yield f"{positional} is not in the synopsis"
    for subcommand in subcommands:
        if f"    {tool} {subcommand} " not in synopsis or f"| `{subcommand}` |" not in section:
            yield f"{subcommand} is not described"
    described = {row[1] for row in re.findall(r"^(\| (\d) \|.*)$", PAGE.split("\n## ")[0], re.M) if tool in row[0] or "every command" in row[0]}
    if codes(texts[0]) != described:
        yield f"exit codes {sorted(codes(texts[0]))} in --help, {sorted(described)} on the page"
    if COMMON - there:
        yield f"lacks {sorted(COMMON - there)}"


def hints():
    """An option that has two values at once is shown as it is given."""
    done = subprocess.run([str(BIN / "pet-tune"), "rules.db", "--shapes-from", "a.onnx", "b.onnx"], capture_output=True, text=True, timeout=60)
    if done.returncode != 2 or "(--shapes-from is given once for each: --shapes-from a.onnx --shapes-from b.onnx; see pet-tune --help)" not in done.stderr:
        yield f"pet-tune --shapes-from a.onnx b.onnx: exit code {done.returncode}: {done.stderr}"


def main():
    built = [t for t in TOOLS if (BIN / t).is_file()]
    if not built:
        print("no tool is built")
        return 77
    wrong = [f"{tool}: {d}" for tool in built for d in differences(tool)]
    wrong += hints() if "pet-tune" in built else []
    wrong += [f"{o} is not described" for o in ["--help", "--version"] if f"`{o}`" not in PAGE]
    print("\n".join(wrong) or f"docs/command-line.md says what {', '.join(built)} say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
