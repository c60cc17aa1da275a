"""The facts of TASO's published substitutions (graph_subst.pb of TASO, SOSP'19, Apache-2.0) as text of our own, and back.

    python3 tests/e2e/_taso_facts.py graph_subst.pb > tests/data/taso.txt

One line is one substitution, `#` starts a comment:

    OPERATOR { "; " OPERATOR } " => " OPERATOR { "; " OPERATOR } " : " OUTPUT { " " OUTPUT }
    OPERATOR = TYPE { OPERAND } { "k" KEY "=" VALUE }      numbers of rules/taso/substitutions.h, in the file's order
    OPERAND  = "x7" a variable, "%0" the first output of operator 0 of the same side; ".1" behind it: another output
    OUTPUT   = "1.0=2.0" output 0 of the source's operator 1 is output 0 of the target's operator 2
"""

import sys


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def numbers(*values):
    """A message of the fields 1, 2, …, each a number."""
    return b"".join(varint((i + 1) << 3) + varint(v) for i, v in enumerate(values))


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


# ---- Text -> bytes

def tensor(text):
    name, _, output = text.partition(".")
    return numbers(-int(name[1:]) if name[0] == "x" else int(name[1:]), int(output or 0))


def operator(text):
    kind, *rest = text.split()
    body = numbers(int(kind))
    for word in rest:
        if word[0] == "k":
            key, value = word[1:].split("=")
            body += message(3, numbers(int(key), int(value)))
        else:
            body += message(2, tensor(word))
    return body


def substitution(line):
    sides, outputs = line.split(" : ")
    body = b""
    for field, side in zip((1, 2), sides.split(" => ")):
        body += b"".join(message(field, operator(o)) for o in side.split("; "))
    for mapped in outputs.split():
        (source, source_output), (target, target_output) = (map(int, end.split(".")) for end in mapped.split("="))
        body += message(3, numbers(source, target, source_output, target_output))
    return message(1, body)


def bytes_of(text):
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return b"".join(substitution(line) for line in lines if line)


# ---- Bytes -> text

def fields(body):
    """(number, value) of each field; the value of a message is its bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - 2**64 if value >= 2**63 else value

    while at < len(body):
        key = number()
        value = number()
        if key & 7:
            at += value
            value = body[at - value:at]
        yield key >> 3, value


def values(body):
    return [value for _, value in sorted(fields(body))]


def tensor_text(body):
    op, output = values(body)
    return (f"x{-op}" if op < 0 else f"%{op}") + (f".{output}" if output else "")


def operator_text(body):
    words = {1: [], 2: [], 3: []}
    for number, value in fields(body):
        words[number].append(str(value) if number == 1 else tensor_text(value) if number == 2 else "k{}={}".format(*values(value)))
    return " ".join(words[1] + words[2] + words[3])


def text_of(data):
    lines = []
    for _, rule in fields(data):
        parts = {1: [], 2: [], 3: []}
        for number, value in fields(rule):
            parts[number].append(value)
        outputs = ("{}.{}={}.{}".format(s, so, t, to) for s, t, so, to in map(values, parts[3]))
        sides = (" ".join(["; ".join(map(operator_text, parts[side]))]) for side in (1, 2))
        lines.append(" => ".join(sides) + " : " + " ".join(outputs))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        sys.stdout.write("# What TASO (SOSP'19, Apache-2.0) publishes as graph_subst.pb, as text: tests/e2e/_taso_facts.py says how to read it.\n"
                         + text_of(file.read()))
