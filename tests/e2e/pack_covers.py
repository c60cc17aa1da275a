#!/usr/bin/env python3
"""pet-rules covers with little memory, on two threads: TASO's rules with all rules of the pack; and two of them with laws
that make programs larger, so that the search ends at the limit on its values. Exit status 0 or 1.
"""

import pathlib
import re
import resource
import subprocess
import sys
import tempfile

from _taso_facts import bytes_of
from pack import BIN, SOURCE, made, tool

LIMIT = 1 << 30  # of address space, and so of memory: 600 rules once took 7.2 GB
TASO = (SOURCE / "tests" / "data" / "taso.txt").read_text()
SUMS = "16 x1 x2; 16 x3 %0; 16 x3 %1 => 16 x1 x3; 16 x2 x3; 16 %0 %1 : 2.0=2.0\n16 x1 x2; 16 x3 %0 => 16 x1 x3; 16 x2 %0 : 1.0=1.0\n"
# x + y, with K rows more and without them again: once, so that there are many programs; and several times, in programs that are too
# large to be gone on from.
LAW = """pattern {name} {{
  shape M N : 1 <= M, 1 <= N
  x: [M, N]
  y: [M, N]
  a0 = Add(x, y)
}}

rule {name}/law of {name} {{
  class M N : 1 <= M, 1 <= N
  replacement {{
    a0 = Add(x, y)
{rows}  }}
}}

"""
ROWS = """    b{i} = Pad(a{i}) pads=[0, 0, {k}, 0]
    a{j} = Slice(b{i}) axes=[0] starts=[0] ends=[M]
"""
LAWS = {1: 20, 5: 100}  # by how many times: how many


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def covers(pack, facts, folder):
    """(exit code, what is said of each rule, messages)"""
    file = folder / "rules.pb"
    file.write_bytes(bytes_of(facts))
    done = subprocess.run([str(BIN / "pet-rules"), "covers", str(pack), "--taso", str(file), "-j", "2"], capture_output=True, text=True,
                          timeout=550, preexec_fn=limited)
    return done.returncode, re.findall(r"^(?:covered|MISSING|false) .*", done.stdout, re.M), done.stderr


def laws():
    for times, count in LAWS.items():
        for k in range(1, count + 1):
            yield LAW.format(name=f"grow-{times}-{k}", rows="".join(ROWS.format(i=i, j=i + 1, k=k) for i in range(times)))


def pack_of_laws(folder):
    text, proved, pack = (folder / f"laws.{ending}" for ending in ["pet", "proved.pet", "db"])
    text.write_text("".join(laws()))
    for name, arguments in [("pet-synth", ["prove", text, "-o", proved]), ("pet-rules", ["import", proved, "-o", pack])]:
        done = tool(name, *arguments)
        if done.returncode:
            sys.exit(f"{name}: exit code {done.returncode}: {done.stderr}")
    return pack


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, lines, said = covers(made(), TASO, folder)
        if code not in (0, 5) or len(lines) != 133:
            wrong.append(f"the pack: exit code {code}, {len(lines)} of 133 rules: {said}")
        code, full, said = covers(pack_of_laws(folder), SUMS, folder)
        if code != 5 or not all(line.endswith("no chain was found among so many programs") for line in full) or len(full) != 2:
            wrong.append(f"laws that grow: exit code {code}, {full}: {said}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print("\n".join(wrong) or f"133 rules, {sum(line.startswith('covered') for line in lines)} covered; laws that grow; {used} MB")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
