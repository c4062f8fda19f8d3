"""Stages of stages.py that show one defect each.

replace           the helper module put into the cache again while it is loaded
ptxas             which ptxas is taken
ptx_version:CUDA  the PTX of a CUDA version
launcher          the C text of a launcher for a kernel without arguments
tensor_map:ROWS   a tensor map made and freed, as kernels with descriptors do
fp8               a kernel with fp8 for sm_86, which has none
hsaco:ARCH        a kernel for an AMD GPU
hip_helper        the helper module hip_utils
hip_launcher      a launcher for AMD: its C text, compiled and loaded
hip_launch:ARCH   a kernel for an AMD GPU, compiled, loaded and launched on the stand-in runtime
extern_symbols    build_extern reads the symbols of a library
extern_folder     the file that build_extern disassembles one into
cache_folder      where an entry of the cache lies
lld               the linker for AMD
own_helper        from here on, OWN_HELPER is what compiling cuda_utils gives
"""

import glob
import inspect
import os


def do_replace():
    from triton.runtime.cache import FileCacheManager

    cache = os.path.join(os.path.expanduser("~"), ".triton", "cache")
    (path,) = glob.glob(os.path.join(cache, "*", "cuda_utils*.pyd"))
    folder, name = os.path.split(path)
    manager = FileCacheManager(os.path.basename(folder))
    manager.cache_dir = folder
    with open(path, "rb") as file:
        return os.path.basename(manager.put(file.read(), name, binary=True))


def do_ptxas():
    try:
        from triton import knobs
    except ImportError:
        from triton.backends.nvidia import compiler

        return compiler._path_to_binary("ptxas")[0]
    return knobs.nvidia.ptxas.path


def do_ptx_version(cuda):
    from triton.backends.nvidia.compiler import ptx_get_version

    return ptx_get_version(cuda)


def _launcher(backend, signature):
    import importlib

    driver = importlib.import_module(f"triton.backends.{backend}.driver")
    known = {
        "constants": {},
        "signature": signature,
        "ids": dict.fromkeys(("ids_of_folded_args", "ids_of_const_exprs"), ()),
        "warp_size": 32,
        "tensordesc_meta": [],
    }
    wanted = inspect.signature(driver.make_launcher).parameters
    return driver, driver.make_launcher(*(known[name] for name in wanted))


def do_launcher():
    return _launcher("nvidia", {})[1]


def do_tensor_map(rows=64):
    import gc

    import triton

    utils = triton.runtime.driver.active.utils
    fill = getattr(utils, "fill_tma_descriptor_tiled", None) or utils.fill_tma_descriptor
    for _ in range(200):
        fill(0x10000, 0, 2, 0, [64, 64], [int(rows), 64], [64, 1], 0)
    gc.collect()
    return "freed"


def _compiled(name, backend, arch):
    import stages_kernels
    import triton
    from triton.backends.compiler import GPUTarget

    kernel = getattr(stages_kernels, name)
    types = stages_kernels.SIGNATURES[kernel]
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2):
        types = dict(enumerate(types.values()))
    source = triton.compiler.ASTSource(fn=kernel, signature=types)
    return triton.compile(source, target=GPUTarget(backend, arch, 32)).asm


def do_fp8():
    return len(_compiled("fp8", "cuda", 86)["cubin"])


def do_hsaco(arch):
    return len(_compiled("add", "hip", arch)["hsaco"])


def do_hip_helper():
    from triton.backends.amd import driver

    driver.HIPUtils()
    return driver._get_path_to_hip_runtime_dylib()


def do_hip_launcher():
    driver, source = _launcher("amd", {0: "*fp32", 1: "i64"})
    build = driver.compile_module_from_src
    more = {"include_dirs": driver.include_dirs} if hasattr(driver, "include_dirs") else {}
    build(source, "__triton_launcher", **more)
    return source


def do_hip_launch(arch):
    import types

    import stages
    import stages_kernels
    import triton
    from triton.backends.amd import driver
    from triton.backends.compiler import GPUTarget

    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "big": "i64", "scale": "fp32"}
    signature["BLOCK"] = "constexpr"
    source = triton.compiler.ASTSource(stages_kernels.scaled, signature, {(5,): 256})
    compiled = triton.compile(source, target=GPUTarget("hip", arch, 32))
    code = compiled.asm["hsaco"]
    utils = driver.HIPUtils()
    triton.runtime.driver.set_active(types.SimpleNamespace(utils=utils))
    launch = driver.HIPLauncher(source, compiled.metadata)
    # the stand-in reads no code object: the sizes of the parameters are told to it
    image = b"PARAMETERS 8 8 4 8 4 8 8\0" + code
    loaded = utils.load_binary(compiled.metadata.name, image, compiled.metadata.shared, 0)
    x, out = stages.Tensor(1024), stages.Tensor(1024)
    launch(
        5, 2, 1, 0, loaded[1], compiled.packed_metadata, None, None, None,
        x, out, 1000, 2**33 + 7, 0.5, 256,
    )  # fmt: skip
    return {
        "elf": code[:4] == b"\x7fELF",
        "named": arch.encode() in code,
        "x": x.data_ptr(),
        "out": out.data_ptr(),
        "by": type(launch).__module__,
    }


def do_extern_symbols():
    from triton.tools.build_extern import Libdevice

    with open("a.ll", "w") as file:
        file.write("define double @__nv_sin(double %x) #0 {\nret double %x\n}\n")
    library = Libdevice("a.bc")
    library.parse_symbols("a.ll")
    return sorted(library.symbols)


def do_extern_folder():
    from triton.tools import build_extern

    return build_extern.LLVMDisassembler("llvm-dis")._ll_file


def do_lld():
    from triton.backends.amd.compiler import HIPBackend

    return str(HIPBackend.path_to_rocm_lld())


def do_cache_folder():
    from triton.runtime.cache import FileCacheManager

    return FileCacheManager("0" * 64).cache_dir


def do_own_helper():
    """From here on, a compiled cuda_utils is the file that OWN_HELPER names."""
    import triton.runtime.build as build

    original = build._build

    def ours(name, *arguments, **more):
        if name == "cuda_utils":
            return os.environ["OWN_HELPER"]
        return original(name, *arguments, **more)

    build._build = ours
    return "in place"
