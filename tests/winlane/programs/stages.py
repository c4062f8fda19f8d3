"""Runs inside Windows: STAGE..., each as far as it goes. Prints one JSON line a stage.

import          Triton and its compiled library
cubin:ARCH      a kernel from source to a cubin; its PTX is left in PTX_FOLDER
helper          the helper module cuda_utils, built and loaded
launch          a kernel with one argument of each kind, launched on the fake driver
"""

import ctypes
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Tensor:
    """An argument with all that the launcher asks of it: no torch is needed."""

    dtype = "fp32"

    def __init__(self, length):
        self.memory = (ctypes.c_float * length)()

    def data_ptr(self):
        return ctypes.addressof(self.memory)


def do_import():
    import triton
    from triton._C import libtriton

    return {"triton": triton.__version__, "library": os.path.basename(libtriton.__file__)}


def do_cubin(arch):
    import stages_kernels
    import triton
    from triton.backends.compiler import GPUTarget

    sizes = {}
    for kernel, types in stages_kernels.SIGNATURES.items():
        if kernel is stages_kernels.fp8 and int(arch) < 89:
            continue
        if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2):
            types = dict(enumerate(types.values()))
        source = triton.compiler.ASTSource(fn=kernel, signature=types)
        compiled = triton.compile(source, target=GPUTarget("cuda", int(arch), 32))
        cubin = compiled.asm["cubin"]
        assert cubin[:4] == b"\x7fELF", cubin[:16]
        sizes[kernel.__name__] = len(cubin)
        if "PTX_FOLDER" in os.environ:
            name = f"{kernel.__name__}-sm{arch}.ptx"
            with open(os.path.join(os.environ["PTX_FOLDER"], name), "w", newline="\n") as file:
                file.write(compiled.asm["ptx"])
    return sizes


def do_helper():
    import triton

    utils = triton.runtime.driver.active.utils
    properties = utils.get_device_properties(0)
    return {"max_shared_mem": properties["max_shared_mem"]}


def do_launch():
    import stages_kernels

    x, out = Tensor(1024), Tensor(1024)
    stages_kernels.scaled[(5, 2)](x, out, 1000, 2**33 + 7, 0.5, BLOCK=256)
    return {"x": hex(x.data_ptr()), "out": hex(out.data_ptr())}


def main():
    import stages_more

    stages = {**globals(), **vars(stages_more)}
    for stage in sys.argv[1:]:
        name, _, argument = stage.partition(":")
        try:
            said = stages["do_" + name](*filter(None, [argument]))
        except BaseException as error:
            trace = traceback.format_exc()
            print(json.dumps({"stage": stage, "error": str(error), "trace": trace}), flush=True)
        else:
            print(json.dumps({"stage": stage, "ok": said}), flush=True)


if __name__ == "__main__":
    sys.modules["stages"] = sys.modules["__main__"]
    main()
