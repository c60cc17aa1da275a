"""Tables of what bench/zoo.py found: lines of Markdown, for its own output and for docs/zoo.md (speed_table.py)."""

import collections
import statistics

import check
from trial import TOLERANCES

VARIANTS = {"default": "default", "all": "`--all`"}
SIZES = [(10, "below 10 MB"), (40, "10 to 40 MB"), (120, "40 to 120 MB"), (2000, "120 MB to 2 GB"),
         (float("inf"), "above 2 GB")]


def table(header, rows):
    return [" | ".join(["| " + header[0], *header[1:]]) + " |", "|---" * len(header) + "|",
            *(" | ".join(["| " + cells[0], *cells[1:]]) + " |" for cells in rows)]


def good(report):
    return {name: entry for name, entry in report["models"].items() if "error" not in entry}


def is_wrong(run):
    return run.get("problem", "").startswith("differs")


def group_row(title, entries):
    """Of some models: how many, what matched and fired, what was refused, what is wrong."""
    cells = [title, str(len(entries)), str(sum(entry["nodes"] for entry in entries))]
    for variant in VARIANTS:
        runs = [entry["runs"][variant] for entry in entries]
        cells += [str(sum(run["matched"] for run in runs)), str(sum(sum(run["rules"].values()) for run in runs)),
                  str(sum(bool(run["rules"]) for run in runs))]
    runs = [run for entry in entries for run in entry["runs"].values()]
    return cells + [str(sum(run["code"] != 0 for run in runs)), str(sum(is_wrong(run) for run in runs))]


def totals(report):
    entries = list(good(report).values())
    groups = {"static": [e for e in entries if e["dynamic"] == "static"], "dynamic": [e for e in entries if e["dynamic"] != "static"]}
    groups |= {precision: [e for e in entries if e["precision"] == precision] for precision in TOLERANCES}
    groups |= {exporter: [e for e in entries if e["exporter"] == exporter] for exporter in sorted({e["exporter"] for e in entries})}
    header = ["models", "number", "nodes"]
    for variant in VARIANTS.values():
        header += [f"{variant}: sites matched", "rules fired", "models rewritten"]
    header += ["refused models", "wrong outputs"]
    return table(header, [group_row("all", entries), *(group_row(title, group) for title, group in groups.items())])


def refused(report):
    """Why rules did not fire where their patterns match, or nearly match."""
    counts = {variant: collections.Counter() for variant in VARIANTS}
    for entry in good(report).values():
        for variant, run in entry["runs"].items():
            counts[variant].update(run["refused"])
    kinds = sorted(set().union(*counts.values()), key=lambda kind: (-counts["default"][kind], kind))
    return table(["reason", *VARIANTS.values()], [[f"`{kind}`", *(str(counts[variant][kind]) for variant in VARIANTS)] for kind in kinds])


def size_row(title, entries):
    cells = [title, str(len(entries))]
    for variant in VARIANTS:
        runs = [entry["runs"][variant] for entry in entries]
        rewriting = [run["parts"]["rewrite"] for run in runs if run["parts"]]
        if not rewriting:
            return cells + [""] * 10
        cells += [f"{statistics.median(rewriting):.2f}", f"{max(rewriting):.2f}", f"{statistics.median(r['seconds'] for r in runs):.1f}",
                  f"{max(r['seconds'] for r in runs):.1f}", f"{max(r['megabytes'] for r in runs):.0f}"]
    return cells


def by_size(report):
    """Seconds of the rewriting and of the whole run with its check, and the peak of memory."""
    rows, lower = [], 0
    for upper, title in SIZES:
        entries = [e for e in good(report).values() if lower <= e["bytes"] / 1e6 < upper]
        rows.append(size_row(title, entries))
        lower = upper
    header = ["size of the model", "number"]
    for variant in VARIANTS.values():
        header += [f"{variant}: rewriting, median s", "most", "with the check, median s", "most", "peak MB"]
    return table(header, rows)


def counted(counts):
    return ", ".join(f"`{what}` x{n}" if n > 1 else f"`{what}`" for what, n in counts.items()) or "none"


def each(report):
    """A row for each model."""
    rows = []
    for name, entry in sorted(good(report).items()):
        default, everything = entry["runs"]["default"], entry["runs"]["all"]
        differences = [run["difference"] for run in (default, everything) if "difference" in run]
        rows.append([name, entry["origin"], entry["precision"], entry["dynamic"], str(entry["nodes"]), f"{entry['bytes'] / 1e6:.0f}",
                     str(default["matched"]), counted(default["rules"]), str(sum(everything["rules"].values())),
                     f"{default['seconds']:.1f} / {everything['seconds']:.1f}", f"{max(default['megabytes'], everything['megabytes']):.0f}",
                     f"{check.in_runs(entry['check']):.1f}" if "check" in entry else "", f"{max(differences):.0e}" if differences else ""])
    return table(["model", "from", "type", "open sizes", "nodes", "MB", "sites", "rules that fire by default", "rules with `--all`",
                  "s, default / `--all`", "peak MB", "check by default, in runs of the model", "largest difference"], rows)
