"""Timings in text form (docs/pack-format.md), for tests."""

import json


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def machines(path):
    return [line for line in lines_of(path) if "rates" in line]


def samples(path):
    """Each with what its setting and its rule say, as a line that needs no other; none where there is no file."""
    lines = lines_of(path)
    settings = {line["setting"]: line for line in lines if "setting" in line and "rule" not in line}
    rules = {line["rule"]: {"rule": line["hash"], "name": line["name"]} for line in lines if "hash" in line}
    found = [{"opening": 0, "closing": 0, "moved": 0} | settings.get(line.get("setting"), {}) | line | rules.get(line["rule"], {})
             for line in lines if "rule" in line and "hash" not in line]
    return [{key: value for key, value in sample.items() if key != "setting"} for sample in found]
