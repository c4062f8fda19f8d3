"""Launches from 3.7 on, where `driver.c` launches every kernel: arguments come with annotations."""

from __future__ import annotations

from types import SimpleNamespace

from tritonwin.driver.payload.api import parse
from tritonwin.driver.payload.launch import Careful
from tritonwin.driver.payload.sources import (
    DriverSource,
    Leaf,
    leaf_of,
    packed_launcher,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class KernelArgument:
    """The plan by which an argument is taken apart: PyKernelArg of 3.7 on."""

    __slots__ = ("nested_tuple", "type")

    def __init__(self, nested_tuple: Any, type: int = 0) -> None:  # noqa: A002 - Triton's name
        self.nested_tuple, self.type = nested_tuple, type


KernelArgument.__name__ = KernelArgument.__qualname__ = "PyKernelArg"
KernelArgument.__module__ = "triton.backends.nvidia"
CONSTEXPR, KERNEL, TUPLE = 0, 1, 2


class Signature(bytes):
    """`build_signature_metadata` returns it from 3.7 on: the leaves and their launch function."""

    leaves: tuple[Leaf, ...]
    careful: Careful | None = None
    annotations: Any = None
    function: Any = None


class Packed:
    """A backend's compiled module; here the functions that launch, from 3.7 on."""

    def __init__(self, module: DriverSource, driver: Any) -> None:
        self._module, self._text, self._driver = module, module.text, driver

    def namespace(self, **types: Any) -> SimpleNamespace:
        """The stand-in for the compiled module: its functions, and types besides."""
        names = {name: self._function(name, form) for name, form in self._module.functions.items()}
        return SimpleNamespace(
            **names, careful=self.careful, PyKernelArg=KernelArgument, ARG_CONSTEXPR=CONSTEXPR,
            ARG_KERNEL=KERNEL, ARG_TUPLE=TUPLE, **types,
        )  # fmt: skip

    def _function(self, name: str, form: str) -> Any:
        """A function of the compiled module, which parses its arguments by the release's format."""
        method = getattr(self, name)
        if name in ("launch", "create_tdm_descriptor"):
            return method
        form = form.replace("s#", "O").replace("y*", "O")
        return lambda *args: method(*parse(form, args))

    def build_signature_metadata(self, types: Any) -> Signature:
        leaves = tuple(leaf_of(each, self._module) for each in types)
        signature = Signature(len(leaves))
        signature.leaves = leaves
        return signature

    def careful(self, signature: Signature, annotations: Any) -> Careful:
        """The launches of one signature; kept with it."""
        if signature.careful is None or signature.annotations is not annotations:
            nested = _nested(annotations, iter(range(len(signature.leaves))))
            launcher = packed_launcher(self._module, signature.leaves, nested)
            signature.careful = Careful(self._driver, launcher)
            signature.annotations = annotations
            signature.function = signature.careful.function()
        return signature.careful

    def launch(self, *args: Any) -> None:
        annotations, signature = args[-3], args[-2]
        if type(signature) is not Signature:
            raise TypeError(f"a bytes-like object is required, not '{type(signature).__name__}'")
        if signature.annotations is not annotations:
            self.careful(signature, annotations)
        signature.function(*args)


def _nested(annotations: Any, numbers: Any) -> Any:
    return tuple(
        _nested(each.nested_tuple, numbers) if each.type == TUPLE
        else next(numbers) if each.type == KERNEL else None
        for each in annotations
    )  # fmt: skip
