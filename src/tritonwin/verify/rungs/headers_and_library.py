"""Compile a tiny extension module as Triton would, and import it: headers and import library."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from typing import Any

from probe_runner import load, output_of

SOURCE = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *version(PyObject *self, PyObject *args) {
  return PyUnicode_FromString(PY_VERSION);
}

static PyMethodDef methods[] = {{"version", version, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tritonwin_proof", NULL, -1, methods};

PyMODINIT_FUNC PyInit_tritonwin_proof(void) { return PyModule_Create(&module); }
"""
SECONDS = 120


def python_libraries() -> list[str]:
    """The folders in which triton-windows' `find_python()` looks for the import library."""
    roots = (sys.exec_prefix, sys.base_exec_prefix, os.path.dirname(sys.executable))
    folders = [os.path.join(root, "libs") for root in dict.fromkeys(roots)]
    return [folder for folder in folders if os.path.isdir(folder)]


def command(compiler: str, source: str, out: str) -> list[str]:
    """The command line that triton's runtime/build.py makes for gcc and TinyCC."""
    words = [compiler, source, "-O3", "-shared", "-fPIC", "-o", out]
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    if threads:
        words.append("-DPy_GIL_DISABLED")
    words.append("-I" + sysconfig.get_paths()["include"])
    if os.name == "nt":
        words += ["-L" + folder for folder in python_libraries()]
        major, minor = sys.version_info[:2]
        words.append(f"-lpython{major}{minor}{threads}")
    return words


def prove(arguments: dict[str, Any]) -> str:
    compiler = arguments["compiler"]
    folder = tempfile.mkdtemp(dir=arguments["scratch"])
    source = os.path.join(folder, "tritonwin_proof.c")
    out = os.path.join(folder, "tritonwin_proof" + sysconfig.get_config_var("EXT_SUFFIX"))
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    output_of(command(compiler, source, out), SECONDS)
    module = load("tritonwin_proof", out)
    built, running = module.version(), sys.version.split()[0]
    if built.split(".")[:2] != running.split(".")[:2]:
        raise RuntimeError(f"headers of Python {built}, this is Python {running}")
    return f"{compiler} compiled a module for Python {built}, which was imported"
