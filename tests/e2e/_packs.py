"""A second reader and writer of packs, made from docs/pack-format.md, so that the page stays true; forged packs, and large
ones made of real rules. For tests and for bench/apply_cost.py.
"""

import hashlib
import itertools
import re
import sqlite3

FORMAT = "pet pack 3"
SCHEMA = [
    "CREATE TABLE evidence(rule TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(rule, key)) STRICT, WITHOUT ROWID",
    "CREATE TABLE metadata(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE patterns(name TEXT NOT NULL PRIMARY KEY, anchor TEXT NOT NULL, rules TEXT NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE rules(pattern TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, family TEXT NOT NULL, depth INTEGER NOT NULL, "
    "boxes INTEGER NOT NULL, numerics TEXT NOT NULL, statement TEXT NOT NULL, proof TEXT NOT NULL, PRIMARY KEY(pattern, name)) "
    "STRICT, WITHOUT ROWID"]
FUNCTIONS = ["Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Neg", "Reciprocal", "Relu", "Sigmoid", "Softplus", "Sqrt", "Square", "Tanh"]


# ---- the format

def blake(fields):
    digest = hashlib.blake2b(digest_size=32)
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def rows(db, table, where="", arguments=()):
    return db.execute(f"SELECT * FROM {table} {where} ORDER BY 1, 2", arguments).fetchall()


def rows_of(db, pattern):
    return rows(db, "rules", "WHERE pattern = CAST(? AS TEXT)", [pattern])


def digest_of(table, values):
    return blake([FORMAT, table, len(values), *(value for row in values for value in row)])


def content(db):
    metadata = [row for row in rows(db, "metadata") if row[0] not in ["content", b"content"]]
    return blake([FORMAT, digest_of("metadata", metadata), digest_of("patterns", rows(db, "patterns"))])


def rule_hash(db, name):
    pattern, statement = db.execute("SELECT pattern, statement FROM rules WHERE name = ?", [name]).fetchone()
    text, = db.execute("SELECT text FROM patterns WHERE name = ?", [pattern]).fetchone()
    return blake(["pet rule 1", text, statement])


def seal(db):
    """Computes all digests anew."""
    for name, in db.execute("SELECT name FROM patterns").fetchall():
        db.execute("UPDATE patterns SET rules = ? WHERE name = CAST(? AS TEXT)", [digest_of("rules", rows_of(db, name)), name])
    db.execute("UPDATE metadata SET value = ? WHERE key = 'evidence'", [digest_of("evidence", rows(db, "evidence"))])
    db.execute("UPDATE metadata SET value = ? WHERE key = 'content'", [content(db)])


def write(path, metadata, patterns, rules):
    """A pack without evidence. `patterns`: name -> text; `rules`: columns behind the hash, by pattern and name."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 0x70657472")
    db.execute("PRAGMA user_version = 3")
    for statement in SCHEMA:
        db.execute(statement)
    db.executemany("INSERT INTO metadata VALUES (?, ?)", sorted((metadata | {"content": "", "evidence": ""}).items()))
    for name, text in sorted(patterns.items()):
        db.execute("INSERT INTO patterns VALUES (?, ?, '', ?)", [name, anchor_of(text), text])
    for (pattern, name), columns in sorted(rules.items()):
        db.execute("INSERT INTO rules VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   [pattern, name, blake(["pet rule 1", patterns[pattern], columns[-2]]), *columns])
    seal(db)
    db.commit()
    db.close()


def anchor_of(text):
    """The operator of a pattern's first output."""
    returned = re.search(r"^  return (\w+)", text, re.M)
    name = returned[1] if returned else re.findall(r"^  (\w+)(?:, \w+)* = ", text, re.M)[-1]
    return re.search(rf"^  (?:\w+, )*{name}(?:, \w+)* = (\w+)\(", text, re.M)[1]


# ---- packs that lie

def forge(pack, forged, old, new, column="statement"):
    """A pack in which every hash is right and one rule's text is not; the rule's name."""
    forged.write_bytes(pack.read_bytes())
    db = sqlite3.connect(forged)
    found = [name for name, text in db.execute(f"SELECT name, {column} FROM rules") if old in text]
    assert len(found) == 1, f"{old} is in {found}"
    db.execute(f"UPDATE rules SET {column} = replace({column}, ?, ?) WHERE name = ?", [old, new, found[0]])
    statement = db.execute("SELECT statement FROM rules WHERE name = ?", found).fetchone()[0]
    numerics = statement.split("\n  numerics ")[1].split("\n")[0]
    db.execute("UPDATE rules SET hash = ?, boxes = ?, numerics = ? WHERE name = ?",
               [rule_hash(db, found[0]), statement.count("\n  box "), numerics, found[0]])
    seal(db)
    db.commit()
    db.close()
    return found[0]


# ---- large packs

def body_with(text, functions, indent):
    """A body of one result, with functions behind it; None: it has several."""
    lines = text.rstrip("\n").split("\n")
    last = re.fullmatch(r" +(\w+) = .*", lines[-1])
    if not last:
        return None
    name = last[1]
    for i, function in enumerate(functions):
        lines.append(f"{indent}tail{i} = {function}({name})")
        name = f"tail{i}"
    return "\n".join(lines) + "\n"


def pattern_with(text, name, functions):
    head, body = text.split("\n", 1)
    body = body_with(body[:body.rindex("}")], functions, "  ")
    return body and f"pattern {name} {{\n{body}}}\n"


def statement_with(text, name, pattern, functions):
    parts = re.split(r"^(  (?:mutant|replacement) \{\n)(.*?)^(  \}\n)", text.split("\n", 1)[1], flags=re.M | re.S)
    for i in range(2, len(parts), 4):
        parts[i] = body_with(parts[i], functions, "    ")
    return None if None in parts else f"rule {name} of {pattern} {{\n" + "".join(parts)


def tails():
    """Functions to stand behind a result: each, then each two, and so on."""
    for length in itertools.count(1):
        yield from itertools.product(FUNCTIONS, repeat=length)


def enlarge(pack, large, count):
    """A pack of `count` rules: those of another, and their like for patterns with functions behind them. Their proofs prove
    nothing. The number of rules."""
    db = sqlite3.connect(pack)
    patterns = {name: text for name, _, _, text in rows(db, "patterns")}
    rules = {(row[0], row[1]): row[3:] for row in rows(db, "rules")}
    db.close()
    originals = (dict(patterns), dict(rules))
    for functions in tails():
        tail = "-" + "-".join(functions).lower()
        for name, text in originals[0].items():
            altered = pattern_with(text, name + tail, functions)
            if altered:
                patterns[name + tail] = altered
        for (pattern, name), columns in originals[1].items():
            statement = statement_with(columns[-2], name + tail, pattern + tail, functions)
            if len(rules) < count and statement and pattern + tail in patterns:
                rules[pattern + tail, name + tail] = (*columns[:-2], statement, columns[-1])
        if len(rules) >= count:
            break
    write(large, {"depth": "4"}, patterns, rules)
    return len(rules)
