"""Facts about one release's driver, read from the C text that it would have compiled.

Up to Triton 3.6 `make_launcher` writes a C module per signature; from 3.7 on `driver.c` launches
every kernel. Both state their argument formats, so that formats decide here, never a version.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # how kernel arguments nest: the number of an argument, or the arguments of a tuple
    Nested = tuple[int | "Nested", ...]


class UnknownDriverError(Exception):
    """This Triton's driver has a form that is not known here."""


class Leaf(NamedTuple):
    """One kernel argument after tuples are flattened.

    Attributes:
        kind: "pointer", "map" (a tensor map), or "scalar".
        code: `struct`'s letter of the value in memory; "bf16" for the upper half of a float.
        parse: the letter of PyArg_ParseTuple, or the type's name from 3.7 on.
    """

    kind: str
    code: str
    parse: str


class Launcher(NamedTuple):
    """The call of a launch function, and its arguments to the driver.

    Attributes:
        names: its leading arguments, in order.
        format: PyArg_ParseTuple's format of all arguments.
        metadata: the names in the kernel's packed metadata.
        nested: the arguments after the leading ones.
        leaves: the flattened arguments.
        passed: numbers of the leaves that become kernel parameters.
        scratch: the scratch pointers that are the last kernel parameters; "" for one that is
            always null.
        attributes: their order in the launch configuration.
        warp: threads of a warp; 0 where an argument says it.
        ensure_context: a thread without a context gets the first device's.
        sixteen: clusters of 16 need the function's consent.
        packed: arguments come as one sequence, with annotations (3.7 on).
    """

    names: tuple[str, ...]
    format: str
    metadata: tuple[str, ...]
    nested: Nested
    leaves: tuple[Leaf, ...]
    passed: tuple[int, ...]
    scratch: tuple[str, ...]
    attributes: tuple[str, ...]
    warp: int
    ensure_context: bool
    sixteen: bool
    packed: bool


class DriverSource(NamedTuple):
    """The functions of a release's `driver.c`.

    Attributes:
        functions: PyArg_ParseTuple's format of each Python function; "" for one in a header.
        launch: the arguments of the one that launches, from 3.7 on; the kernel's metadata is one.
        text: the whole source.
    """

    functions: dict[str, str]
    launch: tuple[str, ...]
    text: str


_FLAT = {"K": "Q", "b": "B", "L": "q", "l": "q", "h": "h", "i": "i", "B": "B", "H": "H",
         "I": "I", "f": "f"}  # fmt: skip
_STORAGE = {"pack_fp16": "e", "pack_bf16": "bf16", "pack_fp32": "f", "pack_fp64": "d"}
# the names of a launcher's leading variables in C, and ours
_NAMES = {
    "gridX": "grid_x", "gridY": "grid_y", "gridZ": "grid_z", "_stream": "stream",
    "_function": "function", "launch_cooperative_grid": "cooperative", "launch_pdl": "pdl",
    "global_scratch_obj": "global_scratch", "profile_scratch_obj": "profile_scratch",
    "kernel_metadata": "metadata", "launch_metadata": "launch_metadata",
    "launch_enter_hook": "enter_hook", "launch_exit_hook": "exit_hook",
    "warp_size": "warp_size", "arg_annotations": "annotations", "signature": "signature",
    "kernel_args": "arguments",
}  # fmt: skip
_METADATA = {
    "num_warps": "warps", "num_ctas": "ctas", "shared_memory": "shared",
    "clusterDimX": "cluster_x", "clusterDimY": "cluster_y", "clusterDimZ": "cluster_z",
}  # fmt: skip
_NUMBERS = ("num_ctas", "shared_memory")  # of the metadata, behind num_warps
_PARSE = r'PyArg_ParseTuple\({of},\s*"([^"]*)"(?:,\s*([^;]*?))?\)\)'
_MARKS = {  # what the C calls -> our name of the attribute
    "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION": "pdl",
    "CU_LAUNCH_ATTRIBUTE_COOPERATIVE": "cooperative",
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": "cluster",
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE": "policy",
}


def read_module(text: str) -> DriverSource:
    """The functions of a `driver.c`.

    Raises:
        UnknownDriverError: a function parses its arguments in no way that can be read.
    """
    functions: dict[str, str] = {}
    launch: tuple[str, ...] = ()
    names = {**_NAMES, "num_warps": "metadata"}
    for name, c_name in re.findall(r'\{"(\w+)",\s*(\w+),\s*METH_VARARGS', text):
        head = rf"static PyObject \*{c_name}\("
        functions[name] = ""
        if re.search(head, text):
            functions[name], variables = _parsed(_body(text, head), "args")
            if name == "launch":
                launch = tuple(names.get(each, "") for each in variables if each not in _NUMBERS)
                if "" in launch:
                    raise UnknownDriverError("launch in driver.c takes unknown arguments")
    if not functions:
        raise UnknownDriverError("driver.c has no table of functions")
    return DriverSource(functions, launch, text)


def check_functions(module: DriverSource, known: dict[str, tuple[str, ...]]) -> None:
    """Check that each function parses its arguments in a known way.

    Args:
        known: by function the formats that are understood.

    Raises:
        UnknownDriverError: one parses them in another way.
    """
    for name, form in module.functions.items():
        if form not in known.get(name, ()):
            raise UnknownDriverError(f"{name} in driver.c parses {form!r}")


def _body(text: str, start: str) -> str:
    """A C function from its head to the brace that closes it in the first column."""
    found = re.search(start, text)
    if found is None:
        raise UnknownDriverError(f"driver.c has no function {start}")
    end = text.find("\n}", found.start())
    return text[found.start() : end]


def attributes_of(text: str) -> tuple[str, ...]:
    """The launch attributes in the order of the configuration."""
    body = _body(text, r"static void _launch\(")
    if "hipStream_t" in body:
        return ()
    # 3.3 has a branch of its own for a cooperative launch without clusters
    clusters = body[body.find("CUlaunchAttribute launchAttr[3]") :]
    body = clusters if "CUlaunchAttribute launchAttr[3]" in body else body
    found = {body.find(c_name): ours for c_name, ours in _MARKS.items() if c_name in body}
    return tuple(found[place] for place in sorted(found))


def read_launcher(text: str) -> Launcher:
    """The launcher in the C text that `make_launcher` wrote.

    Raises:
        UnknownDriverError: the text has another form than any release's.
    """
    form, variables = _parsed(text, "args")
    names = tuple(_NAMES[v] for v in variables if v in _NAMES)
    if variables[: len(names)] != [_NAMES_BACK[name] for name in names]:
        raise UnknownDriverError("the launcher's arguments have an unknown order")
    letters, arguments = form[: len(names)], form[len(names) :]
    nested, flat = _nest(arguments)
    if len(flat) != len(variables) - len(names) or "(" in letters:
        raise UnknownDriverError(f"the launcher's format {form!r} is unknown")
    metadata_form, metadata = _parsed(text, "kernel_metadata")
    if not set(metadata) <= set(_METADATA) or metadata_form != "i" * len(metadata):
        raise UnknownDriverError(f"the kernel's metadata {metadata_form!r} is unknown")
    leaves, passed, scratch = _parameters(text, flat)
    return Launcher(
        names=names,
        format=form,
        metadata=tuple(_METADATA[name] for name in metadata),
        nested=nested,
        leaves=leaves,
        passed=passed,
        scratch=scratch,
        attributes=attributes_of(text),
        warp=_warp(text),
        ensure_context="  ensureCudaContext();" in text,
        sixteen="num_ctas == 16" in text,
        packed=False,
    )


_NAMES_BACK = {ours: c_name for c_name, ours in _NAMES.items()}


def _parsed(text: str, of: str) -> tuple[str, list[str]]:
    found = re.search(_PARSE.format(of=of), text)
    if found is None:
        raise UnknownDriverError(f"the launcher does not parse {of} as expected")
    return found[1], [each.strip().lstrip("&") for each in (found[2] or "").split(",")]


def _nest(form: str) -> tuple[Nested, str]:
    """The format's nesting with arguments numbered, and its letters alone."""
    letters: list[str] = []
    stack: list[list[int | Nested]] = [[]]
    for letter in form:
        if letter == "(":
            stack.append([])
        elif letter == ")":
            inner = tuple(stack.pop())
            stack[-1].append(inner)
        else:
            stack[-1].append(len(letters))
            letters.append(letter)
    if len(stack) != 1:
        raise UnknownDriverError(f"the format {form!r} is not balanced")
    return tuple(stack[0]), "".join(letters)


def _parameters(text: str, flat: str) -> tuple[tuple[Leaf, ...], tuple[int, ...], tuple[str, ...]]:
    """The leaves, the numbers of those that are passed on, and the scratch pointers."""
    kinds = {
        int(n): "pointer" for n in re.findall(r"ptr_info(\d+) = getPointer\(_arg\1, \1\)", text)
    }
    kinds.update((int(n), "map") for n in re.findall(r"tma_ptr(\d+) = getTmaDesc\(_arg\1\)", text))
    packed = dict(re.findall(r"_arg(\d+)_storage = (pack_\w+)\(_arg\1\)", text))
    floats = set(re.findall(r"\bfloat\s+_arg(\d+);", text))
    leaves = []
    for number, letter in enumerate(flat):
        kind = kinds.get(number, "scalar")
        if kind == "pointer":
            code = "Q"
        elif kind == "map":
            code = "128s"
        elif letter == "d":
            code = _STORAGE[packed[str(number)]] if str(number) in packed else "d"
        elif letter == "O":
            code = ""  # a constexpr: accepted, and not passed on
        elif letter in _FLAT and (letter != "f" or str(number) in floats):
            code = _FLAT[letter]
        else:
            raise UnknownDriverError(f"an argument of the format {letter!r} is unknown")
        if kind == "map" and "py_tensor_map_type" in text:
            letter = "nvTmaDesc"
        leaves.append(Leaf(kind, code, letter))
    found = re.search(r"void \*params\[\] = \{ (.*?) ?\};", text)
    if found is None and "void **params = NULL;" not in text:
        raise UnknownDriverError("the launcher has no list of parameters")
    listed = [each.strip() for each in found[1].split(",")] if found else []
    listed = [each for each in listed if each not in ("", "NULL")]
    numbers = [re.fullmatch(r"&arg(\d+)", each) for each in listed]
    passed = tuple(int(each[1]) for each in numbers if each)
    scratch = tuple(each.lstrip("&") for each in listed[len(passed) :])
    if any(numbers[len(passed) :]) or not set(scratch) <= {"global_scratch", "profile_scratch"}:
        raise UnknownDriverError("the launcher's parameters have an unknown order")
    if any(leaves[n].code == "" for n in passed):
        raise UnknownDriverError("an object that is no pointer is a kernel parameter")
    null = {name for name in scratch if f"hipDeviceptr_t {name} = 0;\n  void" in text}
    return tuple(leaves), passed, tuple("" if name in null else name for name in scratch)


def _warp(text: str) -> int:
    found = re.search(r"\b(\d+) ?\* ?num_warps", text)
    if found is None:
        raise UnknownDriverError("the launcher does not say how many threads a warp has")
    return int(found[1])


# -- from 3.7 on

_TYPES = {
    "i1": "i", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "I", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "bf16": "bf16", "fp32": "f", "f32": "f", "fp64": "d", "nvTmaDesc": "128s",
}  # fmt: skip


def leaf_of(type_name: str, module: DriverSource) -> Leaf:
    """The leaf of a type in a signature: "*fp32", "i32", "nvTmaDesc".

    Raises:
        RuntimeError: there is no such type; the text is Triton's.
    """
    if type_name.startswith("*"):
        return Leaf("pointer", "Q", type_name)
    code = _TYPES.get(type_name)
    if code is None or not re.search(rf'"{type_name}"', module.text):
        raise RuntimeError(f"Unknown data type: {type_name!r}")
    return Leaf("map" if type_name == "nvTmaDesc" else "scalar", code, type_name)


def packed_launcher(module: DriverSource, leaves: Sequence[Leaf], nested: Nested) -> Launcher:
    """The launcher for one signature of a `driver.c` that launches.

    Args:
        nested: numbers of leaves, None for what is not passed on, and tuples of both.
    """
    scratch = ("global_scratch", "profile_scratch")
    names = module.launch
    return Launcher(
        names=names,
        format=module.functions["launch"].replace("(iii)", "O").replace("y*", "O"),
        metadata=("warps", "ctas", "shared"),
        nested=nested,
        leaves=tuple(leaves),
        passed=tuple(range(len(leaves))),
        scratch=tuple(name if name in names else "" for name in scratch),
        attributes=attributes_of(module.text),
        warp=0 if "warp_size" in names else 32,
        ensure_context="  ensureCudaContext();" in module.text,
        sixteen="num_ctas == 16" in module.text,
        packed=True,
    )
