#!/usr/bin/env python3
"""pet-rules on good packs, on bad files and on forged packs (_packs.py). Exit status 0 or 1."""

import json
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

from _packs import anchor_of, content, digest_of, forge, rows, rows_of, rule_hash, seal

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
TOOL = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")) / "pet-rules"
DATA = SOURCE / "tests" / "data"
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(*arguments, **options):
    return subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def limit_file_size():
    """As a full disk: only so many bytes fit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def expect_error(name, code, *words, arguments, leaves=(), **options):
    """One line on standard error that holds the words; the exit code; no file left in `leaves`."""
    done = run(*arguments, **options)
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr!r}")
    lines = done.stderr.splitlines()
    expect(name, len(lines) == 1 and lines[0].startswith("pet-rules: ") and all(w in lines[0] for w in words), done.stderr)
    for path in leaves:
        expect(name, not path.exists(), f"{path} was written")


# ---- the parts

def check_where_it_pays(folder, pack, rule):
    """What the share folder's timings say of a rule, by device and machine, as comments."""
    share = folder / "share"
    share.mkdir()
    name = "beads-1-1-abacus"
    machine = {"machine": name, "vendor": "", "family": 1, "model": 1, "cpu": "beads", "isa": "abacus", "l1d": 0, "l2": 0, "l3": 0, "rates": []}
    times = {"pattern": 0.2, "opening": 0, "closing": 0, "moved": 0, "spread": 0.01, "weights": "cold", "engine": "e", "version": "1",
             "isa": "abacus", "machine": name, "date": "2026-11-26"}
    shape = {"N": 2, "C": 8, "F": 8, "H": 7, "W": 7, "P": 1, "Q": 1, "R": 3, "S": 3}
    for device, replacement, threads in [("ort-cpu", 0.1, 1), ("openvino-cpu", 0.4, 1), ("openvino-cpu", 0.1, 2)]:
        sample = {"name": rule["name"], "rule": rule["hash"], "device": device, "shapes": shape, "replacement": replacement, "threads": threads}
        with (share / f"{device}.timings.jsonl").open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in ([machine] if threads == 1 else []) + [sample | times]))
    shown = run("show", pack, rule["name"], env={**os.environ, "PET_SHARE": str(share)})
    lines = [line for line in shown.stdout.splitlines() if line.startswith("# pays on ")]
    expect("show: where it pays", lines == ["# pays on openvino-cpu, beads-1-1-abacus: never: 0.50 (1 sample)",
                                            "# pays on openvino-cpu, beads-1-1-abacus, 2 threads: always: 2.00 (1 sample)",
                                            "# pays on ort-cpu, beads-1-1-abacus: always: 2.00 (1 sample)"], shown.stdout + shown.stderr)
    (share / "ort-cpu.timings.jsonl").write_text("no timings\n")
    expect_error("show: damaged timings", 4, "ort-cpu.timings.jsonl", arguments=["show", pack, rule["name"]], env={**os.environ, "PET_SHARE": str(share)})
    shown = run("show", pack, rule["name"], env={**os.environ, "PET_SHARE": str(folder / "nowhere")})
    expect("show: no share folder", shown.returncode == 0 and "pays on" not in shown.stdout, shown.stderr)


def good_pack(folder):
    """import, ls, show, export, verify; the pack is what the format's page says."""
    pair_only = folder / "pair-only.pet"
    text = (DATA / "pair.pet").read_text()
    pair_only.write_text(text[text.index("\nrule "):])
    pack = folder / "rules.db"
    done = run("import", DATA / "conv.pet", pair_only, DATA / "square.pet", "-o", pack)
    expect("import", done.returncode == 0 and not done.stderr, done.stderr)

    listed = json.loads(run("ls", "--json", pack).stdout)
    expect("ls --json", [r["name"] for r in listed] == ["conv/pair", "conv/transposed", "square/transposed"], listed)
    keys = {"name", "pattern", "family", "depth", "boxes", "verdict", "numerics", "values", "source", "hash"}
    expect("ls --json", set(listed[0]) == keys and listed[0]["boxes"] == 2 and listed[0]["verdict"] == "proved, checked", listed[0])
    table = run("ls", pack).stdout.splitlines()
    expect("ls", len(table) == 4 and table[1].split()[0] == "conv/pair", table)

    shown = run("show", pack, "conv/pair").stdout
    expect("show", all(part in shown for part in ["pattern conv {", "mutant {", "box [", "replacement {", "proof {"]), shown)
    expect("show by hash", run("show", pack, listed[0]["hash"][:10]).stdout == shown)
    check_where_it_pays(folder, pack, listed[0])

    exported = folder / "rules.pet"
    expect("export", run("export", pack, "-o", exported).returncode == 0)
    expect("export to standard output", run("export", pack).stdout == exported.read_text())
    scripts = folder / "smt"
    expect("export --smt2", run("export", "--smt2", pack, "-o", scripts).returncode == 0)
    names = sorted(path.name for path in scripts.iterdir())
    expect("export --smt2", names == ["conv-pair.smt2", "conv-transposed.smt2", "square-transposed.smt2"], names)
    script = run("export", "--smt2", pack, "--only", "conv/pair").stdout
    expect("export --smt2 --only", script == (scripts / "conv-pair.smt2").read_text() and script.count("(check-sat)") > 50)
    expect_error("export --gained", 4, "no rule of the pack gained", arguments=["export", pack, "--gained", SOURCE / "packs/ort-cpu.timings.jsonl"])
    expect("export --smt2 of several rules to standard output", run("export", "--smt2", pack).returncode == 2)

    again = folder / "again.db"
    run("import", exported, "-o", again)
    expect("import of export", again.read_bytes() == pack.read_bytes(), "other bytes")

    header = "rule conv/pair of conv {\n"
    sourced = folder / "sourced.pet"
    sourced.write_text(exported.read_text().replace(header, header + "  source template\n"))
    run("import", sourced, "-o", again)
    sources = {r["name"]: r["source"] for r in json.loads(run("ls", "--json", again).stdout)}
    expect("where a rule comes from", sources == {"conv/pair": "template", "conv/transposed": "", "square/transposed": ""}, sources)
    expect("where a rule comes from, shown", "# source: template\n" in run("show", again, "conv/pair").stdout)
    expect("where a rule comes from, exported", run("export", again).stdout == sourced.read_text())

    verified = run("verify", pack)
    expect("verify", verified.returncode == 0 and "3 rules: 3 proved, 0 refuted, 0 unknown" in verified.stdout, verified.stdout)
    one = json.loads(run("verify", "--json", "-j1", pack, "conv/pair").stdout)
    expect("verify --json", len(one) == 1 and one[0]["verdict"] == "proved" and one[0]["obligations"] > 50, one)

    db = sqlite3.connect(pack)
    expect("format: header", db.execute("PRAGMA application_id").fetchone() == (0x70657472,))
    expect("format: header", db.execute("PRAGMA user_version").fetchone() == (3,))
    page = (SOURCE / "docs" / "pack-format.md").read_text()
    for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"):
        expect("format: the page's schema", f"\n    {sql}\n" in page, sql)
    stored, = db.execute("SELECT value FROM metadata WHERE key = 'content'").fetchone()
    expect("format: digest", content(db) == stored)
    evidence, = db.execute("SELECT value FROM metadata WHERE key = 'evidence'").fetchone()
    expect("format: digest of the evidence", digest_of("evidence", rows(db, "evidence")) == evidence)
    for name, anchor, digest, text in rows(db, "patterns"):
        expect("format: digest of a pattern's rules", digest_of("rules", rows_of(db, name)) == digest, name)
        expect("format: anchor", anchor_of(text) == anchor, name)
    for name, digest in db.execute("SELECT name, hash FROM rules").fetchall():
        expect("format: hash", rule_hash(db, name) == digest, name)
    text = "".join(row[3] + "\n" for row in rows(db, "patterns"))
    text += "".join(r[7] + r[8] + "\n" for r in sorted(rows(db, "rules"), key=lambda r: r[1]))
    expect("format: text", text == exported.read_text())
    db.close()
    return pack


def bad_files(folder, pack):
    data = pack.read_bytes()
    bad = folder / "bad.db"

    def refuse(name, content_, *words):
        bad.write_bytes(content_)
        for command in ["ls", "export", "verify"]:
            expect_error(f"{name}, {command}", 4, str(bad), *words, arguments=[command, bad])

    refuse("empty", b"", "empty")
    refuse("half", data[:len(data) // 2], "truncated")
    refuse("one byte short", data[:-1], "truncated")
    refuse("one byte too many", data + b"\0", "1 bytes stand behind the database")
    refuse("another file behind it", data + data, f"{len(data)} bytes stand behind the database")
    refuse("text", b"hello, world\n" * 100, "not a pack")
    refuse("rules as text", b"pattern conv {\n", "pet-rules import")
    refuse("newer", data[:63] + b"\x04" + data[64:], "newer pet")
    refuse("older", data[:63] + b"\x02" + data[64:], "format 2", "pet-synth")
    at = data.index(b"ConvTranspose")
    refuse("flipped", data[:at] + b"X" + data[at + 1:], "damaged", "digest")
    for size in range(0, len(data), 4096):
        bad.write_bytes(data[:size])
        expect(f"cut at {size}", run("ls", bad).returncode == 4)

    foreign = folder / "foreign.db"
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE rules(name TEXT)")
    db.commit()
    db.close()
    expect_error("foreign", 4, str(foreign), "another application", arguments=["ls", foreign])
    trigger = folder / "trigger.db"
    trigger.write_bytes(data)
    db = sqlite3.connect(trigger)
    db.execute("CREATE TRIGGER t AFTER INSERT ON rules BEGIN DELETE FROM rules; END")
    db.commit()
    db.close()
    expect_error("trigger", 4, str(trigger), "its tables are not those of a pack", arguments=["ls", trigger])
    edited = folder / "edited.db"
    edited.write_bytes(data)
    db = sqlite3.connect(edited)
    db.execute("UPDATE rules SET family = 'other'")
    seal(db)
    db.commit()
    db.close()
    for table, row, words in [
            ("evidence", ("conv/none", "key", "value"), "evidence about an unknown rule conv/none"),
            ("evidence", ("conv/pair", "key", "\x1b[2J"), "a row of evidence is not plain text"),
            ("evidence", ("conv/pair", "key", b"\xff"), "a row of evidence is not plain text"),
            ("metadata", ("k\x07", "value"), "a row of metadata is not plain text")]:
        strange = folder / "strange.db"
        strange.write_bytes(data)
        db = sqlite3.connect(strange)
        db.text_factory = bytes
        marks = ", ".join("CAST(? AS TEXT)" for _ in row)
        db.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        seal(db)
        db.commit()
        db.close()
        for command in ["ls", "export", "verify"]:
            expect_error(f"{row}, {command}", 4, str(strange), words, arguments=[command, strange])
    expect_error("edited column", 4, "columns do not agree", arguments=["ls", edited])

    expect_error("missing", 4, "No such file", arguments=["ls", folder / "none.db"])
    expect_error("a folder", 4, "Is a directory", arguments=["ls", folder])


def damaged_rules(folder, pack):
    """Hashes and digest in order, the rule itself wrong: verify says why, import refuses."""
    table = [
        ("a box one column short", "W - Q:W]", "W - Q + 1:W]", "statement", "mutant and pattern differ"),
        ("a missing box", "  box [1:2M:2, 0:F, 0:H + 2P - R + 1, 0:Q]\n", "", "statement", "mutant and pattern differ"),
        ("a wrong pad", "pads=[P, 0, P, Q]", "pads=[P, Q, P, 0]", "statement", "the programs differ"),
        ("a dropped constraint", ", 2Q <= W", ", Q <= W", "statement", "2Q <= W"),
        ("a wrong bijection", "c_1, R - r_2 - 1", "c_1, r_2", "proof", "it is the record that is wrong"),
        ("half a bijection", "    backward 0 -> 0 [k_2]\n", "", "proof", "backward: one map for every term"),
    ]
    for name, old, new, column, reason in table:
        forged = folder / "forged.db"
        rule = forge(pack, forged, old, new, column)
        done = run("verify", forged)
        line = next((x for x in done.stdout.splitlines() if x.startswith("refuted") and rule in x), "")
        expect(name, done.returncode == 5 and reason in line, done.stdout + done.stderr)
        expect(name, "3 rules: 2 proved, 1 refuted, 0 unknown" in done.stdout, done.stdout)
        only = run("verify", "--json", forged, rule)
        expect(name, only.returncode == 5 and json.loads(only.stdout)[0]["verdict"] == "refuted", only.stdout)
        evaluated = run("evaluate", forged)
        differs = any(rule in x and not x.startswith("ok ") for x in evaluated.stdout.splitlines())
        wrong = column == "statement"
        expect(f"evaluate: {name}", evaluated.returncode == (5 if wrong else 0) and differs == wrong, evaluated.stdout + evaluated.stderr)
        text, target = folder / "forged.pet", folder / "forged-import.db"
        run("export", forged, "-o", text)
        expect_error(f"import of {name}", 5, rule, "only proved rules", arguments=["import", text, "-o", target],
                     leaves=[target])


def several_outputs(folder):
    """A rule with two: its records, and what is said where one of them is damaged."""
    pack, text, again, forged = (folder / f for f in ["two.db", "two.pet", "two-again.db", "two-forged.db"])
    run("import", DATA / "branches.pet", DATA / "square.pet", "-o", pack)
    db = sqlite3.connect(pack)
    expect("two outputs: digest", db.execute("SELECT value FROM metadata WHERE key = 'content'").fetchone() == (content(db),))
    statement, proof = db.execute("SELECT statement, proof FROM rules WHERE name = 'convs/merged'").fetchone()
    expect("two outputs: columns", "  proof " not in statement and proof.startswith("  proof y {\n") and "\n  proof z {\n" in proof, proof)
    db.close()
    run("export", pack, "-o", text)
    run("import", text, "-o", again)
    expect("two outputs: import of export", again.read_bytes() == pack.read_bytes())
    expect("two outputs: evaluate", "2 equal, 0 not" in run("evaluate", pack).stdout)
    folder_of_smt = folder / "two-smt"
    run("export", "--smt2", pack, "-o", folder_of_smt)
    smt = (folder_of_smt / "convs-merged.smt2").read_text()
    expect("two outputs: SMT", all(f"output {o}: forward: one map for every term" in smt for o in "yz"))
    for old, new, code, reason in [
            ("0 -> 1 [c_1, r_2, s_3]", "0 -> 1 [c_1, s_3, r_2]", 5, "output z: forward map 0 (0 -> 1)"),
            ("    backward 0 -> 0 [c_4, r_5, s_6]\n", "", 5, "output y: backward: one map for every term"),
            ("  proof z {", "  proof y {", 4, "15:3: 'proof y' is given twice"),
            ("  proof z {", "  proof {", 4, "15:9: expected an output of the pattern")]:
        forge(pack, forged, old, new, "proof")
        done = run("verify", forged)
        expect(f"two outputs: {new}", done.returncode == code and reason in done.stdout + done.stderr, done.stdout + done.stderr)


def bad_texts(folder):
    """What import refuses, and where in the text."""
    target, bad = folder / "target.db", folder / "bad.pet"
    conv = (DATA / "conv.pet").read_text()
    table = [
        ("half a rule", conv[: conv.index("  proof {")], "bad.pet:21:1: expected a clause of the rule, found the end"),
        ("a rule of no pattern", conv[conv.index("\nrule "):], "bad.pet:2:6: rule 'conv/transposed' is of an unknown pattern 'conv'"),
        ("a pattern in other words", conv.replace("pads=[P, Q, P, Q]", "pads=[P, Q, Q, P]", 1), "bad.pet: pattern 'conv' is another one in an earlier file"),
        ("not text", "\udcff\udcfe", "bad.pet:1:1: "),
        ("a name that is not UTF-8", conv.replace("rule conv/transposed", "rule conv/\udcfft", 1), "bad.pet:11:11: a rule's name has visible ASCII characters only"),
        ("a pattern's name that is not ASCII", conv.replace("pattern conv", "pattern conv\u00e9", 1), "bad.pet:3:13: a pattern's name has visible ASCII characters only"),
        ("a family that is not UTF-8", conv.replace("family transposed", "family c\udc80", 1), "bad.pet:12:11: a family has visible ASCII characters only"),
        ("a name with an escape", conv.replace("rule conv/transposed", "rule conv/\x1b[2J", 1), "a rule's name has visible ASCII characters only"),
        ("very many statements", conv.replace("  y = Conv(", "".join(f"  s{i} = Identity(x)\n" for i in range(2000)) + "  y = Conv(", 1), "bad.pet:1005:3: a program of more than 1000 inputs and operators"),
        ("a symbol twice", conv.replace("shape N C", "shape N N", 1), "the symbol 'N' is declared twice"),
        ("a symbol of the class twice", conv.replace("class N C", "class N N", 1), "the symbol 'N' is declared twice"),
        ("another text", "#include <stdio.h>\nint main() {}\n", "bad.pet:2:1: "),
        ("a pack", "SQLite format 3\0", "bad.pet:1:1: "),
        ("a number that is too large", conv.replace("1 <= R", "99999999999999999999 <= R", 1), "bad.pet:14:69: expected a 64-bit integer"),
    ]
    for name, text, words in table:
        bad.write_bytes(text.encode(errors="surrogateescape"))
        # The pattern comes from an earlier file where the table damages it.
        files = [DATA / "pair.pet", bad] if name == "a pattern in other words" else [bad]
        expect_error(f"import of {name}", 4, words, arguments=["import", *files, "-o", target], leaves=[target])
    bad.unlink()
    expect_error("import of a folder", 4, "Is a directory", arguments=["import", folder, "-o", target], leaves=[target])


def outputs(folder, pack):
    """Nothing is written in part: neither on a full disk nor over an input."""
    before, text, target = pack.read_bytes(), folder / "text.pet", folder / "target.db"
    run("export", pack, "-o", text)
    exported = text.read_bytes()
    expect_error("no room for a text", 2, "new.pet: cannot write: File too large (nothing was written)",
                 arguments=["export", pack, "-o", folder / "new.pet"], leaves=[folder / "new.pet"], preexec_fn=limit_file_size)
    expect_error("no room for a pack", 2, "target.db: cannot write: File too large", arguments=["import", text, "-o", target],
                 leaves=[target], preexec_fn=limit_file_size)
    expect_error("no room in place of a text", 2, "File too large", arguments=["export", pack, "-o", text], preexec_fn=limit_file_size)
    expect_error("import to a full disk", 2, "/dev/full: cannot write: No space", arguments=["import", text, "-o", "/dev/full"])
    expect_error("a folder as output", 2, "Is a directory", arguments=["export", pack, "-o", folder])
    expect_error("import into no folder", 2, "No such file", arguments=["import", text, "-o", folder / "none" / "x.db"])
    expect_error("export over the pack", 2, "would be overwritten", arguments=["export", pack, "-o", pack])
    expect_error("import over a text", 2, "would be overwritten", arguments=["import", text, "-o", text])
    expect("outputs over what was there", pack.read_bytes() == before and text.read_bytes() == exported)
    for command in [["ls", pack], ["ls", "--json", pack], ["show", pack, "conv/pair"], ["export", pack], ["verify", pack, "conv/pair"],
                    ["evaluate", pack, "conv/pair"], ["--help"], ["ls", "--help"]]:
        with open("/dev/full", "wb") as device:
            done = subprocess.run([str(TOOL), *map(str, command)], stdout=device, stderr=subprocess.PIPE, text=True, timeout=120)
        expect(f"{command[0]} to a full disk", done.returncode == 2 and done.stderr.startswith("pet-rules: standard output: cannot write")
               and len(done.stderr.splitlines()) == 1, (done.returncode, done.stderr))
    with open("/dev/full", "wb") as device:
        done = subprocess.run([str(TOOL), "ls", str(folder / "none.db")], stdout=subprocess.PIPE, stderr=device, timeout=120)
    expect("an error on a full disk", done.returncode == 4, done.returncode)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([str(TOOL), "export", str(pack)], stdout=write, stderr=subprocess.PIPE, timeout=120)
    os.close(write)
    expect("a closed pipe", done.returncode == -signal.SIGPIPE and not done.stderr, (done.returncode, done.stderr))


def usage(folder, pack):
    expect_error("no subcommand", 2, "--help", arguments=[])
    expect_error("unknown subcommand", 2, "--help", arguments=["dance"])
    expect_error("no pack", 2, "PACK", arguments=["ls"])
    expect_error("unknown option", 2, "--fast", arguments=["ls", pack, "--fast"])
    expect_error("unknown rule", 2, "conv/none", "pet-rules ls", arguments=["show", pack, "conv/none"])
    expect_error("unknown rule", 2, "conv/none", arguments=["verify", pack, "conv/none"])
    expect_error("no threads", 2, "--threads", arguments=["verify", pack, "-j0"])
    expect_error("import without output", 2, "-o", arguments=["import", DATA / "conv.pet"])
    target = folder / "target.db"
    expect_error("import of nothing", 4, "No such file", arguments=["import", folder / "none.pet", "-o", target], leaves=[target])
    broken = folder / "broken.pet"
    broken.write_text("pattern conv {\n  shape N\n  y = Conv(x)\n}\n")
    expect_error("import of a broken text", 4, "broken.pet:3:", arguments=["import", broken, "-o", target], leaves=[target])
    expect_error("twice the same rule", 4, "two files", arguments=["import", DATA / "conv.pet", DATA / "conv.pet", "-o", target],
                 leaves=[target])
    expect_error("output in no folder", 2, "No such file", arguments=["export", pack, "-o", folder / "none" / "x"])
    expect_error("full disk", 2, "No space", arguments=["export", pack, "-o", "/dev/full"])
    for help_ in [["--help"], ["verify", "--help"]]:
        done = run(*help_)
        expect("help", done.returncode == 0 and "Exit codes" in done.stdout and not done.stderr, done.stdout + done.stderr)
    done = run("--version")
    expect("version", done.returncode == 0 and done.stdout.startswith("pet-rules ") and not done.stderr, done.stdout + done.stderr)
    if os.geteuid() != 0:
        locked = folder / "locked.db"
        locked.write_bytes(pack.read_bytes())
        locked.chmod(0)
        expect_error("unreadable", 4, "Permission denied", arguments=["ls", locked])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pack = good_pack(folder)
        if not failures:
            bad_files(folder, pack)
            damaged_rules(folder, pack)
            several_outputs(folder)
            bad_texts(folder)
            outputs(folder, pack)
            usage(folder, pack)
            left = [p.name for p in folder.iterdir() if p.name.endswith((".tmp", "-journal", "-wal", "-shm"))]
            expect("files left behind", not left, left)
    for failure in failures:
        print(f"rules_tool: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
