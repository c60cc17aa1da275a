"""Who may include whom: arrows between folders only go down, and each outside library lives in one folder. Operators are
not compared with strings. One name, one type: two types of one name in a namespace end in one program sooner or later,
and the linker does not tell them apart.

Reads every source file of the checkout, prints `file:line: rule` for each line that breaks a rule, and first runs itself
on small examples that must be caught.
"""

import os
import re
import subprocess
import sys

# folder -> folders whose headers it may include. A folder that is not listed belongs to its nearest listed parent.
OURS = {
    "ir": {"ir"},
    "rules": {"ir", "rules"},
    "rules/pack": {"ir", "rules", "rules/pack"},
    "rules/gain": {"ir", "rules", "rules/pack", "rules/gain"},
    "rules/check": {"ir", "rules", "rules/check"},
    "rules/taso": {"ir", "rules", "rules/taso"},
    "synth/poly": {"ir", "synth/poly"},
    "synth/analysis": {"ir", "rules", "synth/poly", "synth/analysis"},
    "synth/prove": {"ir", "rules", "synth/poly", "synth/prove"},
    "synth/numerics": {"ir", "rules", "synth/poly", "synth/prove", "synth/numerics"},
    "synth/judge": {"ir", "rules", "rules/check", "synth/poly", "synth/analysis", "synth/prove", "synth/numerics", "synth/judge"},
    "synth/propose": {"ir", "rules", "synth/judge", "synth/propose"},
    "synth/propose/plans": {"ir", "rules", "synth/poly", "synth/analysis", "synth/judge", "synth/propose", "synth/propose/plans"},
    "synth/propose/axes": {"ir", "rules", "synth/analysis", "synth/judge", "synth/propose", "synth/propose/axes"},
    "synth/propose/exchanges": {"ir", "rules", "synth/analysis", "synth/judge", "synth/propose", "synth/propose/exchanges"},
    "synth/propose/skeletons":
        {"ir", "rules", "synth/poly", "synth/analysis", "synth/judge", "synth/propose", "synth/propose/skeletons"},
    "synth/propose/templates": {"ir", "rules", "synth/analysis", "synth/propose", "synth/propose/templates"},
    "synth/cover": {"ir", "rules", "synth/poly", "synth/judge", "synth/cover"},
    "synth/search":
        {"ir", "rules", "synth/analysis", "synth/judge", "synth/cover", "synth/propose", "synth/propose/plans", "synth/propose/axes",
         "synth/propose/exchanges", "synth/propose/skeletons", "synth/propose/templates", "synth/search"},
    "synth": {"synth", "synth/search"},
    "synth/free": {"ir", "rules", "rules/taso", "synth/judge", "synth/cover", "synth/free"},
    "synth/mine": {"ir", "rules", "rules/taso", "synth/cover", "synth/mine"},
    "synth/scale": {"ir", "rules", "rules/pack", "synth/poly", "synth/search", "synth/scale"},
    "synth/mpi": {"synth/search", "synth/scale", "synth/mpi"},
    "runtime": {"ir", "runtime"},
    "runtime/plan": {"ir", "runtime", "runtime/plan"},
    "runtime/onednn": {"ir", "runtime", "runtime/plan", "runtime/onednn"},
    "runtime/cuda": {"ir", "runtime", "runtime/plan", "runtime/cuda"},
    "include": {"include"},  # what users compile: the standard library and nothing else
}
# The applier's rooms in the order of the data: each may include itself and those above it that it names.
ROOMS = {
    "onnx": set(),  # files and graphs
    "infer": {"onnx"},  # element types and extents of a graph's values
    "view": {"onnx"},  # the part of a graph that is a program
    "operators": {"onnx", "infer", "view"},  # what each operator is in ONNX, both ways
    "read": {"onnx", "infer", "view", "operators"},
    "match": {"onnx", "view"},
    "replace": {"onnx", "view", "match"},  # a rule at a site; the program with it
    "clean": {"onnx", "view"},
    "choose": {"onnx", "view", "operators", "match", "replace", "clean"},
    "check": {"onnx", "view", "read", "match", "replace"},
    "write": {"onnx", "view", "operators"},
    "measure": {"onnx", "infer", "view", "operators", "read", "match", "replace", "clean", "write"},
    # one round of rewriting, of each graph of a model
    "round": {"onnx", "infer", "view", "read", "match", "replace", "clean", "choose", "check", "write", "measure"},
}
# What a room may include besides of what is not the applier's.
RULES_ROOMS = {"operators", "match", "replace", "choose", "check", "measure", "round"}
RUNTIME_ROOMS = {"choose", "check", "measure"}
for room, others in ROOMS.items():
    assert others <= set(list(ROOMS)[:list(ROOMS).index(room)]), f"applier/{room} includes a room that comes after it"
    OURS[f"applier/{room}"] = {"ir", f"applier/{room}"} | {f"applier/{o}" for o in others} | \
        ({"rules"} if room in RULES_ROOMS else set()) | ({"runtime"} if room in RUNTIME_ROOMS else set())
OURS["applier"] = {"ir", "rules", "rules/gain", "runtime", "applier"} | {f"applier/{room}" for room in ROOMS}
# Runs models: the graph's regions as programs on an engine, which its caller hands over, and what is between them node by node.
OURS["session/kernels"] = {"ir", "applier/onnx", "session/kernels"}
OURS["session"] = {"ir", "runtime", "applier/onnx", "applier/infer", "applier/view", "applier/operators", "applier/read", "session", "session/kernels"}
ENTRY = {"applier/apply.h", "applier/apply.cc"}  # all that stands above the rooms

EVERYTHING = {"tools", "library", "python", "examples", "bench", "tests"}  # may include any folder of ours; they obey the library rule

# library -> (what its headers look like, the one folder that may include them)
LIBRARIES = {
    "isl": (r"isl/", "synth/poly"),
    "SQLite": (r"SQLiteCpp/|sqlite3", "rules/pack"),
    "z3": (r"z3", "rules/check"),
    "MPI": (r"mpi\.h$", "synth/mpi"),
    "ONNX protobuf": (r".*\.pb\.h$|google/protobuf/", "applier/onnx"),
    "oneDNN": (r"dnnl|oneapi/", "runtime/onednn"),
    "CUDA": (r"cuda|cublas|cudnn|curand|cusolver|cusparse|cutlass/|cute/|nvrtc|driver_types\.h|device_launch", "runtime/cuda"),
}

# What the checker may see of ir/: what the text reader makes, and evaluation. Not what the prover goes by.
CHECKER = "rules/check"
SEEN_BY_CHECKER = {"ir/error.h", "ir/evaluate.h", "ir/expr.h", "ir/limits.h", "ir/ops/op.h", "ir/program.h", "ir/shape.h", "ir/text.h"}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
PUBLIC = re.compile(r"pet/\w+\.h$|\w+(\.h)?$")
SOURCE = re.compile(r".*\.(cc|h|cpp|hpp|cu|cuh|inc)$")


def folder_of(path):
    """The listed folder that holds `path`, or None."""
    folder = os.path.dirname(path)
    while folder:
        if folder in OURS or folder in EVERYTHING:
            return folder
        folder = os.path.dirname(folder)
    return None


def broken_rule(folder, quote, header):
    """Why a file of `folder` may not include `header`; None if it may."""
    if ".." in header.split("/"):
        return f'includes "{header}": write the path from the repository root'
    for library, (pattern, home) in LIBRARIES.items():
        if re.match(pattern, header):
            return None if folder == home else f"includes <{header}>: {library} is for {home}/ only"
    target = folder_of(header)
    if folder == "include":
        return None if PUBLIC.match(header) else f"includes <{header}>: a public header needs the standard library alone"
    if target is None:
        return f'includes "{header}": quotes are for our headers, from the repository root' if quote == '"' else None
    if folder == CHECKER and header.startswith("ir/") and header not in SEEN_BY_CHECKER:
        return f'includes "{header}": {CHECKER}/ says itself what programs mean'
    if folder in EVERYTHING or target in OURS[folder]:
        return None
    return f'includes "{header}": {folder}/ may include only {", ".join(sorted(OURS[folder]))}'


NAMED = re.compile(r'\b(?:op|row)(?:->|\.)name [!=]= "')


def check(path, text):
    """Yields `file:line: rule` for every broken rule in one source file."""
    folder = folder_of(path)
    if folder is None:
        yield f"{path}:1: no such folder in the design; name it in tests/e2e/architecture.py"
        return
    if folder == "applier" and path not in ENTRY:
        yield f"{path}:1: what belongs to applier/ stands in one of its rooms"
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        rule = include and broken_rule(folder, *include.groups())
        if rule:
            yield f"{path}:{number}: {rule}"
        if NAMED.search(line) and folder != "tests":
            yield f"{path}:{number}: compares an operator with a string: say is(ops::kNAME) (ir/ops/names.h)"


NAMESPACE = re.compile(r"namespace ([\w:]*) ?\{$")
NAMESPACE_END = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:struct|class|union|enum class) (\w+)(?: final)?(?: :.*)? ?\{")


def types_of(text):
    """Yields (line, namespace and name) for each type that other files may see: not those within types, nor those of
    unnamed namespaces."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        opened, named = NAMESPACE.match(line), TYPE.match(line)
        if opened:
            spaces.append(opened[1])
        elif NAMESPACE_END.match(line) and spaces:
            spaces.pop()
        elif named and "" not in spaces:
            yield number, "::".join([*spaces, named[1]])


def check_types(texts):
    """Yields `file:line: rule` for each type whose name another file of `texts` (path -> text) gives to a type, too."""
    first = {}
    for path, text in texts.items():
        for number, name in types_of(text):
            other = first.setdefault(name, path)
            if other != path:
                yield f"{path}:{number}: {name} is the name of a type in {other}, too"


# (path, line, part of the message that must come, or None where the line is fine)
EXAMPLES = [
    ("ir/a.cc", '#include "ir/program.h"', None),
    ("ir/ops/a.cc", '#include "ir/program.h"', None),
    ("ir/a.cc", "#include <vector>", None),
    ("ir/a.cc", "#include <fmt/format.h>", None),
    ("ir/a.cc", '#include "rules/rule.h"', "ir/ may include only"),
    ("ir/a.cc", '#include "../rules/rule.h"', "repository root"),
    ("ir/a.cc", "  #  include <../rules/rule.h>", "repository root"),
    ("ir/ops/a.cc", '#include "runtime/run.h"', "ir/ may include only"),
    ("ir/a.h", '#include "program.h"', "repository root"),
    ("ir/a.h", "#include <isl/map.h>", "isl is for"),
    ("rules/a.cc", '#include "synth/search/search.h"', "rules/ may include only"),
    ("rules/a.cc", '#include "rules/pack/pack.h"', "rules/ may include only"),
    ("rules/pack/a.cc", '#include "rules/rule.h"', None),
    ("rules/pack/a.cc", "#include <SQLiteCpp/SQLiteCpp.h>", None),
    ("rules/pack/a.cc", "#include <sqlite3.h>", None),
    ("rules/a.cc", "#include <sqlite3.h>", "SQLite is for"),
    ("rules/gain/a.cc", '#include "rules/pack/timings.h"', None),
    ("rules/gain/a.cc", '#include "runtime/rounding.h"', "rules/gain/ may include only"),
    ("rules/check/a.cc", "#include <z3++.h>", None),
    ("rules/check/a.cc", '#include "rules/pack/pack.h"', "rules/check/ may include only"),
    ("rules/check/a.cc", '#include "ir/program.h"', None),
    ("rules/check/meaning/a.cc", '#include "ir/denote.h"', "says itself what programs mean"),
    ("rules/check/a.cc", '#include "ir/ops/common.h"', "says itself what programs mean"),
    ("synth/prove/a.cc", "#include <z3++.h>", "z3 is for"),
    ("synth/prove/a.cc", '#include "synth/poly/map.h"', None),
    ("synth/prove/a.cc", "#include <isl/set.h>", "isl is for"),
    ("synth/poly/a.cc", "#include <isl/set.h>", None),
    ("synth/free/a.cc", '#include "rules/taso/translate.h"', None),
    ("synth/free/a.cc", '#include "synth/judge/narrow.h"', None),
    ("synth/judge/a.cc", '#include "rules/check/check.h"', None),
    ("synth/prove/a.cc", '#include "rules/check/check.h"', "synth/prove/ may include only"),
    ("synth/prove/a.cc", '#include "synth/judge/pipeline.h"', "synth/prove/ may include only"),
    ("synth/judge/a.cc", '#include "synth/propose/generator.h"', "synth/judge/ may include only"),
    ("synth/propose/plans/a.cc", '#include "synth/judge/proposal.h"', None),
    ("synth/propose/plans/a.cc", '#include "synth/propose/skeletons/fill.h"', "synth/propose/plans/ may include only"),
    ("synth/propose/plans/a.cc", '#include "synth/search/reduce.h"', "synth/propose/plans/ may include only"),
    ("synth/search/a.cc", '#include "synth/propose/plans/plan_generator.h"', None),
    ("synth/a.cc", '#include "synth/judge/pipeline.h"', "synth/ may include only"),
    ("synth/free/a.cc", '#include "synth/poly/map.h"', "synth/free/ may include only"),
    ("synth/a.cc", '#include "synth/free/free_search.h"', "synth/ may include only"),
    ("synth/mine/a.cc", '#include "rules/taso/extents.h"', None),
    ("synth/mine/a.cc", '#include "applier/view/view.h"', "synth/mine/ may include only"),
    ("synth/poly/a.cc", '#include "synth/search/search.h"', "synth/poly/ may include only"),
    ("synth/a.cc", '#include "synth/scale/checkpoint.h"', "synth/ may include only"),
    ("synth/scale/a.cc", '#include "rules/pack/file.h"', None),
    ("synth/scale/a.cc", "#include <mpi.h>", "MPI is for"),
    ("synth/mpi/a.cc", "#include <mpi.h>", None),
    ("synth/a.cc", '#include "applier/match/find_sites.h"', "synth/ may include only"),
    ("applier/apply.cc", '#include "synth/search/search.h"', "applier/ may include only"),
    ("applier/apply.cc", '#include "rules/check/check.h"', "applier/ may include only"),
    ("applier/apply.cc", '#include "applier/onnx/load.h"', None),
    ("applier/apply.cc", '#include "rules/gain/gain.h"', None),
    ("applier/apply.cc", '#include "rules/pack/pack.h"', "applier/ may include only"),
    ("applier/apply.cc", '#include "onnx/onnx-ml.pb.h"', "ONNX protobuf is for"),
    ("applier/apply.cc", '#include "applier/match/find_sites.h"', None),
    ("applier/view/a.cc", '#include "applier/onnx/graph.h"', None),
    ("applier/infer/a.cc", '#include "applier/onnx/graph.h"', None),
    ("applier/infer/a.cc", '#include "applier/view/view.h"', "applier/infer/ may include only"),
    ("applier/view/a.cc", '#include "rules/rule.h"', "applier/view/ may include only"),
    ("applier/operators/a.cc", '#include "applier/read/normalise.h"', "applier/operators/ may include only"),
    ("applier/read/a.cc", '#include "applier/operators/lifting.h"', None),
    ("applier/read/a.cc", '#include "applier/match/find_sites.h"', "applier/read/ may include only"),
    ("applier/match/a.cc", '#include "applier/view/view.h"', None),
    ("applier/match/a.cc", '#include "applier/replace/instantiate.h"', "applier/match/ may include only"),
    ("applier/match/a.cc", '#include "applier/apply.h"', "applier/match/ may include only"),
    ("applier/clean/a.cc", '#include "applier/replace/splice.h"', "applier/clean/ may include only"),
    ("applier/clean/a.cc", '#include "rules/rule.h"', "applier/clean/ may include only"),
    ("applier/choose/a.cc", '#include "applier/clean/simplify.h"', None),
    ("applier/choose/a.cc", '#include "applier/measure/site_timer.h"', "applier/choose/ may include only"),
    ("applier/check/a.cc", '#include "runtime/compare.h"', None),
    ("applier/check/a.cc", '#include "rules/pack/pack.h"', "applier/check/ may include only"),
    ("applier/write/a.cc", '#include "runtime/compare.h"', "applier/write/ may include only"),
    ("applier/write/a.cc", '#include "applier/read/normalise.h"', "applier/write/ may include only"),
    ("applier/measure/a.cc", '#include "applier/write/emit.h"', None),
    ("applier/measure/a.cc", '#include "applier/apply.h"', "applier/measure/ may include only"),
    ("applier/a.cc", "int x;", "stands in one of its rooms"),
    ("applier/rest/apply.cc", "int x;", "stands in one of its rooms"),
    ("applier/onnx/a.cc", '#include "onnx/onnx-ml.pb.h"', None),
    ("applier/onnx/a.cc", "#include <google/protobuf/io/coded_stream.h>", None),
    ("runtime/a.cc", '#include "rules/rule.h"', "runtime/ may include only"),
    ("runtime/a.cc", "#include <dnnl.hpp>", "oneDNN is for"),
    ("runtime/onednn/a.cc", "#include <oneapi/dnnl/dnnl.hpp>", None),
    ("runtime/reference/a.cc", "#include <cuda_runtime.h>", "CUDA is for"),
    ("runtime/cuda/a.cu", "#include <cudnn.h>", None),
    ("tools/pet-synth.cc", '#include "synth/search/search.h"', None),
    ("tools/pet-synth.cc", "#include <isl/ctx.h>", "isl is for"),
    ("tests/unit/a_test.cc", '#include "rules/check/check.h"', None),
    ("tests/unit/a_test.cc", "#include <z3++.h>", "z3 is for"),
    ("bench/a.cc", "#include <google/protobuf/message.h>", "ONNX protobuf is for"),
    ("synth/prove/a.cc", '  if (n.op->name == "Conv") return;', "compares an operator with a string"),
    ("synth/prove/a.cc", "  if (n.is(ops::kConv)) return;", None),
    ("tests/unit/a_test.cc", '  EXPECT_TRUE(n.op->name == "Conv");', None),
    ("include/pet/a.h", "#include <string_view>", None),
    ("include/pet/a.h", "#include <pet/pet.h>", None),
    ("include/pet/a.h", "#include <fmt/format.h>", "the standard library alone"),
    ("include/pet/a.h", '#include "ir/error.h"', "the standard library alone"),
    ("library/a.cc", '#include "tools/apply/rewrite.h"', None),
    ("library/a.cc", "#include <sqlite3.h>", "SQLite is for"),
    ("scratch/a.cc", "int x;", "no such folder"),
]

# (text of one file, of another; how many types of one name there are)
OPEN, CLOSE = "namespace pet {\n", "}  // namespace pet\n"
HIDDEN, SHOWN = "namespace {\n", "}  // namespace\n"
TYPE_EXAMPLES = [
    ((f"{OPEN}struct A {{\n}};\n{CLOSE}", f"{OPEN}class A final : public B {{\n}};\n{CLOSE}"), 1),
    ((f"{OPEN}struct A {{\n}};\n{CLOSE}", f"{OPEN}{HIDDEN}struct A {{}};\n{SHOWN}{CLOSE}"), 0),
    ((f"{OPEN}struct A {{\n}};\n{CLOSE}", f"{OPEN}{HIDDEN}{SHOWN}enum class A {{ x }};\n{CLOSE}"), 1),
    ((f"{OPEN}struct A {{\n}};\n{CLOSE}", f"{OPEN}struct A;\nstruct B::A {{}};\n{CLOSE}"), 0),
    ((f"{OPEN}struct A {{\n}};\n{CLOSE}", "namespace pet::check {\nstruct A {\n};\n}  // namespace pet::check\n"), 0),
]


def self_test():
    for path, line, expected in EXAMPLES:
        found = list(check(path, "\n" + line))
        caught = len(found) == 1 and found[0].startswith(f"{path}:") and expected in found[0] if expected else not found
        if not caught:
            yield f"self-test: {path}: {line}: wanted {expected!r}, found {found}"
    for texts, wanted in TYPE_EXAMPLES:
        found = list(check_types(dict(zip(("a.h", "b.h"), texts))))
        if len(found) != wanted:
            yield f"self-test: {texts}: wanted {wanted} types of one name, found {found}"


def sources(root):
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True)
    return sorted(path for path in listing.stdout.splitlines() if SOURCE.match(path))


def main():
    root = os.environ.get("PET_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
    problems = list(self_test())
    texts = {}
    for path in sources(root):
        if os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
    for path, text in texts.items():
        problems += check(path, text)
    problems += check_types(texts)
    print("\n".join(problems) or f"{len(texts)} source files, {len(EXAMPLES)} examples: every include is allowed, "
          "every type has a name of its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
