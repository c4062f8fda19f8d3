"""All rules, in the order in which they are applied. None of them needs another."""

from __future__ import annotations

from tritonwin.patch.model import Rule
from tritonwin.patch.rules import (
    amd,
    build,
    c_dialect,
    cache_files,
    cache_key,
    cuda_driver,
    dlfcn,
    extern,
    helper_modules,
    last_error,
    ptxas_run,
    temp_files,
    tools,
)

RULES: tuple[Rule, ...] = (
    build.SETUPTOOLS,
    build.BUILD,
    cache_files.REPLACE,
    cache_files.LONG,
    cache_key.LIBRARY,
    tools.VARIABLES,
    tools.SUFFIX,
    tools.VARIABLES_OF_3_3,
    tools.BLACKWELL,
    cache_key.PTX,
    ptxas_run.SHELL,
    ptxas_run.OUTPUT,
    temp_files.RULE,
    cuda_driver.NAME,
    cuda_driver.FOLDER,
    cuda_driver.PRESENT,
    helper_modules.SUFFIX,
    helper_modules.ARGUMENTS,
    dlfcn.LAUNCHER,
    last_error.LAUNCHER,
    c_dialect.EMPTY,
    c_dialect.HEAD_LAUNCHER,
    dlfcn.DRIVER,
    last_error.DRIVER,
    helper_modules.SHAPE,
    c_dialect.ATOMIC,
    c_dialect.ALIGNED,
    c_dialect.HEAD,
    c_dialect.LITERALS,
    *amd.RULES,
    extern.GREP,
    extern.FOLDER,
)

FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))


def rule(identifier: str) -> Rule | None:
    return next((each for each in RULES if each.id == identifier), None)
