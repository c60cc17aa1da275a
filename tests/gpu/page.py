#!/usr/bin/env python3
"""A page of what tests/gpu/run.py found, as Markdown.

    tests/gpu/page.py build/gpu/gpu.json > build/gpu/gpu.md
"""

import json
import pathlib
import sys

MOST = 25  # rows of a table of the worst


def table(heading, rows):
    if not rows:
        return []
    lines = [heading, ["---"] * len(heading), *rows]
    return ["", *("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines), ""]


def milliseconds(seconds):
    return f"{1e3 * seconds:.3f}" if seconds is not None else ""


def percent(share):
    return f"{100 * share:.0f} %"


def rates(step):
    rows = [[device, f"{r['engine']} {r['version']}", *(f"{1e-12 * r[what]:.3g}" for what in ["gemm", "conv", "copy"])] for device, r in step.get("rates", {}).items()]
    rows += [[device, f"missing: {why}", "", "", ""] for device, why in step.get("missing", {}).items()]
    return table(["device", "engine", "products, TFLOP/s", "Convs, TFLOP/s", "copies, TB/s"], rows)


def right(step):
    lines = step.get("lines", [])
    rows = [[line["model"], line.get("form", ""), line.get("precision", ""), line.get("error") or f"off by {line['off']:.1e}"]
            for line in lines if line.get("wrong") or "error" in line]
    good = len(lines) - len(rows)
    return [f"{good} of {len(lines)} runs equal ONNX Runtime on the processor."] + table(["model", "", "precision", "wrong"], rows)


def sanitizer(step):
    return table(["tool", "tests", "exit status", "reports", "first"],
                 [[tool, found["tests"], found["status"], found["reports"], "; ".join(found["first"][:2])] for tool, found in step.get("tools", {}).items()])


def operators(step):
    return [f"{step.get('tests', 0)} tests, failed: {', '.join(step.get('failed', {})) or 'none'}."]


def tuning(step):
    lines = []
    for device, found in step.get("devices", {}).items():
        lines += [f"### {device}", ""]
        if found.get("wrong"):
            lines.append(f"Wrong: {found['wrong']}")
        if "samples" not in found:
            continue
        lines.append(f"{found['samples']} samples of {found['rules']} rules; {len(found['pay'])} gain 1.05 somewhere.")
        lines += table(["rule", "best ratio"], [[f"`{rule}`", f"{ratio:.2f}"] for rule, ratio in list(found["pay"].items())[:MOST]])
        shares = [each["share"] for each in found["layouts"]]
        if shares:
            lines.append(f"{len(shares)} chains of layouts: median {percent(sorted(shares)[len(shares) // 2])} of a copy's rate.")
        lines += table(["slowest layouts, of the rule", "shapes", "share of a copy"],
                       [[f"`{each['rule']}`", " ".join(f"{s}={e}" for s, e in each["shapes"].items()), percent(each["share"])] for each in found["layouts"][:MOST]])
    return lines


def models(step):
    devices = list(dict.fromkeys(line["device"] for line in step.get("lines", [])))
    rows = []
    for name in dict.fromkeys(line["model"] for line in step.get("lines", [])):
        cells, rules = [], []
        for device in devices:
            line = next((each for each in step["lines"] if (each["model"], each["device"]) == (name, device)), {})
            if "error" in line:
                cells.append(line["error"])
            elif line:
                off = f", {'wrong: ' if line.get('wrong') else ''}off by {line['off']:.0e}" if "off" in line else ""
                cells.append(milliseconds(line["seconds"]) + (f" ({line['ratio']:.2f}{off})" if "ratio" in line else ""))
                rules = rules or line["rules"]
            else:
                cells.append("")
        rows.append([name, *cells, ", ".join(f"`{rule}`" for rule in rules) or "none fires"])
    return ["Milliseconds of the original; in brackets how many times as fast the rewritten model is there, and how far what it makes is off.", "",
            *(f"- {device} is missing: {why}" for device, why in step.get("missing", {}).items())] + table(["model", *devices, "rules"], rows)


def operators_of_models(step):
    lines = []
    for device, found in step.get("devices", {}).items():
        for kind, of in [("products", "the peak"), ("layouts", "a copy's rate"), ("others", "a copy's rate")]:
            rows = [[line["model"], line["node"], line["op"], line["how"], milliseconds(line["seconds"]), percent(line["of_model"]), percent(line["share"])] for line in found[kind][:MOST]]
            lines += [f"### {device}: {kind}", "", f"{len(found[kind])} that take a hundredth of their model's time, the furthest from {of} first."]
            lines += table(["model", "node", "operator", "how", "ms", "of the model", f"share of {of}"], rows)
    return lines


SECTIONS = {"operators": operators, "sanitizer": sanitizer, "right": right, "rates": rates, "tuning": tuning, "models": models,
            "operators-of-models": operators_of_models}


def text(results):
    lines = [f"# {results['gpu']}", "", f"{results['device']}; {'; '.join(f'{name}: {version}' for name, version in results['versions'].items())}.",
             f"Commit {results['commit']}, {results['date']}: `{results['command']}`.", ""]
    steps = results["steps"]
    lines += table(["step", "", "seconds", ""], [[name, step["state"], f"{step['took']:.0f}", step.get("why", "")] for name, step in steps.items()])
    for name, step in steps.items():
        section = SECTIONS[name](step) if step["state"] != "missing" else [step["why"]]
        lines += [f"## {name}", "", *section, ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(text(json.loads(pathlib.Path(sys.argv[1]).read_text())), end="")
