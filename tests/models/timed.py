"""Timings in text form (docs/pack-format.md), for tests."""

import json


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def machines(path):
    return [line for line in lines_of(path) if isinstance(line, dict) and "rates" in line]


def samples(path):
    """Each with what its setting and its rule say, as a line that needs no other; none where there is no file."""
    lines = lines_of(path)
    objects = [line for line in lines if isinstance(line, dict)]
    settings = {line["setting"]: line for line in objects if "setting" in line and "rule" not in line}
    rules = {line["rule"]: line for line in objects if "hash" in line}
    whole = [line for line in objects if "pattern" in line]  # it says all itself
    for rule, setting, extents, *figures in (line for line in lines if isinstance(line, list)):
        named = {"rule": rules[rule]["hash"], "name": rules[rule]["name"], "shapes": dict(zip(rules[rule]["symbols"], extents, strict=True))}
        whole.append(settings[setting] | named | dict(zip(["pattern", "replacement", "spread", "opening", "closing", "moved"], figures)))
    return [{key: value for key, value in ({"opening": 0, "closing": 0, "moved": 0} | sample).items() if key != "setting"} for sample in whole]
