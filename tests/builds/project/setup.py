"""A small extension that is built as torch builds one: a ninja file, `ninja -v -j N`, one link.

It stands in for a project with torch where only our own side of the build is the subject.
"""

import os
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NAME = "tiny_kernels_cuda"
KERNELS = [f"csrc/kernel_{number:02}.cu" for number in range(int(os.environ["KERNELS"]))]
SOURCES = ["csrc/api.cpp", *KERNELS]


class BuildExtension(build_ext):
    def build_extensions(self):
        folder = Path(self.build_temp).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        objects = [folder / Path(source).with_suffix(".o").name for source in SOURCES]
        (folder / "build.ninja").write_text(self.ninja_file(objects))
        jobs = ["-j", os.environ["MAX_JOBS"]]
        subprocess.run(["ninja", "-v", *jobs], cwd=folder, check=True)
        for extension in self.extensions:
            self.compiler.link_shared_object(
                [str(o) for o in objects], self.get_ext_fullpath(extension.name)
            )

    def ninja_file(self, objects):
        cuda = Path(os.environ["CUDA_HOME"])
        archs = [f"-gencode arch=compute_{n},code=sm_{n}" for n in os.environ["ARCHS"].split(";")]
        cxx = f"{os.environ['CXX']} -DTORCH_EXTENSION_NAME={NAME} -MMD -MF $out.d"
        nvcc = f"{cuda / 'bin/nvcc'} {' '.join(archs)} --dependency-output $out.d"
        lines = ["ninja_required_version = 1.3"]
        for rule, command in (("cxx", cxx), ("nvcc", nvcc)):
            lines.append(f"rule {rule}\n  command = {command} -c $in -o $out")
            lines.append("  depfile = $out.d\n  deps = gcc")
        for source, target in zip(SOURCES, objects, strict=True):
            rule = "nvcc" if source.endswith(".cu") else "cxx"
            lines.append(f"build {target}: {rule} {Path(source).absolute()}")
        return "\n".join(lines) + "\n"


Path("csrc").mkdir(exist_ok=True)
for source in SOURCES:
    if not Path(source).exists():
        body = "PYBIND11_MODULE" if source.endswith(".cpp") else "kernel"
        Path(source).write_text(f"// {body}\n")

setup(
    name="tiny-kernels",
    version="1.0",
    packages=[],
    ext_modules=[Extension(NAME, SOURCES)],
    cmdclass={"build_ext": BuildExtension},
)
