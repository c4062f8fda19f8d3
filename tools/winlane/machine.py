"""The Windows of one test: changed at will, and restored as it was found."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from winlane import cuda_toolkit
from winlane.cache import copy_tree, replace_file
from winlane.environment import Environment
from winlane.fakes import Fakes
from winlane.lane import Lane
from winlane.microsoft import Microsoft
from winlane.process import Options, Result, Session, home_variables, merged
from winlane.pythons import distribution
from winlane.registry import Registry
from winlane.resources import BASE_VARIABLES
from winlane.windows_paths import Drives

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Renewed from the template after each test: all of C: but these two, which are too big for that.
_KEPT = frozenset({"windows", "lane"})
_SYSTEM32 = r"C:\windows\system32"
_DISPLAY = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_SHELL_FOLDERS = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Explorer\User Shell Folders"


@dataclass
class Machine:
    """`variables` is laid over the plain session's; `path_entries` comes before its PATH."""

    lane: Lane
    variables: dict[str, str] = field(default_factory=dict)
    path_entries: list[str] = field(default_factory=list)
    _environments: list[Environment] = field(default_factory=list, repr=False)
    _windows_files: list[Path] = field(default_factory=list, repr=False)
    _profile: str = ""

    def __post_init__(self) -> None:
        self.registry = Registry(self.lane.tool)
        self.fakes = Fakes(self.lane.cache, self.lane.wine)
        microsoft = Microsoft(self)
        self.visual_studio = microsoft.visual_studio
        self.windows_sdk = microsoft.windows_sdk
        self.cuda_toolkit = partial(cuda_toolkit.install, self)
        self._profile = self.lane.profile
        self.drives.linux(rf"{self._profile}\AppData\Local\Temp").mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *ending: object) -> None:
        self.restore()

    @property
    def drives(self) -> Drives:
        return self.lane.drives

    # -- Pythons

    def environment(
        self,
        version: str,
        kind: str = "full",
        packages: Sequence[str] = (),
        where: str | None = None,
    ) -> Environment:
        """An environment of this test: its programs see the machine's variables."""
        made = self.lane.environment(version, kind, packages, where, starter=self)
        self._environments.append(made)
        return made

    def register_python(
        self, environment: Environment, company: str = "PythonCore", root: str = "HKCU"
    ) -> None:
        """PEP 514, as python.org's installer does it for one user (HKCU) or for all (HKLM)."""
        python = distribution(environment.version)
        key = rf"{root}\Software\Python\{company}\{python.version}"
        home = environment.win(environment.home)
        self.registry.set(key, "DisplayName", f"Python {python.version} (64-bit)")
        self.registry.set(key, "SysVersion", python.version)
        self.registry.set(key, "SysArchitecture", "64bit")
        self.registry.set(key, "Version", python.full)
        self.registry.set(rf"{key}\InstallPath", "", home + "\\")
        self.registry.set(rf"{key}\InstallPath", "ExecutablePath", environment.python)

    # -- the graphics driver

    def gpu(
        self,
        cc: str = "8.9",
        count: int = 1,
        driver: str = "581.57",
        cuda: str = "13.0",
        name: str = "NVIDIA GeForce RTX 4090",
        *,
        memory_mib: int = 24564,
        nvml: bool = True,
        hang: bool = False,
    ) -> None:
        """An NVIDIA driver in system32: nvcuda.dll, and nvml.dll unless told otherwise."""
        major, _, minor = cuda.partition(".")
        self.variables.update(
            FAKECUDA_CC=cc,
            FAKECUDA_COUNT=str(count),
            FAKECUDA_DRIVER=str(int(major) * 1000 + int(minor or 0) * 10),
            FAKECUDA_DRIVER_VERSION=driver,
            FAKECUDA_NAME=name,
            FAKECUDA_MEMORY=str(memory_mib),
            FAKECUDA_HANG="1" if hang else "0",
        )
        self.no_gpu()
        self.place(rf"{_SYSTEM32}\nvcuda.dll", self.fakes.nvcuda())
        if nvml:
            self.place(rf"{_SYSTEM32}\nvml.dll", self.fakes.nvml())

    def radeon(
        self,
        *devices: str,
        hip: str = "7.2",
        library: str = "amdhip64_7.dll",
        pci: str = "744C",
    ) -> None:
        """AMD's driver: adapters in the registry, and its HIP in system32.

        Args:
            devices: "gfx1100,AMD Radeon RX 7900 XTX,24,0": chip, name, GiB, built into the
                processor; in the order of HIP.
            library: "" for a driver without HIP.
            pci: the PCI id of all of them.
        """
        self.no_gpu()
        self.registry.protect(_DISPLAY)
        for number, device in enumerate(devices):
            key = rf"{_DISPLAY}\{number:04}"
            self.registry.set(key, "DriverDesc", device.split(",")[1])
            self.registry.set(key, "ProviderName", "Advanced Micro Devices, Inc.")
            self.registry.set(key, "DriverVersion", "32.0.22021.1009")
            self.registry.set(key, "MatchingDeviceId", rf"PCI\VEN_1002&DEV_{pci}")
        major, _, minor = hip.partition(".")
        self.variables.update(
            FAKEHIP_DEVICES=";".join(devices),
            FAKEHIP_VERSION=str(int(major) * 10**7 + int(minor) * 10**5),
        )
        if library:
            self.place(rf"{_SYSTEM32}\{library}", self.fakes.amdhip64())

    def no_gpu(self) -> None:
        """No driver: none of the DLLs is there (the state a machine starts in)."""
        for name in ("nvcuda.dll", "nvml.dll", "amdhip64_6.dll", "amdhip64_7.dll"):
            self.drives.linux(rf"{_SYSTEM32}\{name}").unlink(missing_ok=True)

    # -- files, the user

    def place(self, windows_path: str, content: bytes | str | Path | None) -> Path:
        """Put a file (bytes, text, or a copy of a Linux file or folder) or an empty folder (None).

        Anywhere on C:; it is gone after the test, and what was there before is back.
        """
        there = self.drives.linux(windows_path)
        if there.is_relative_to(self.drives.drive_c / "windows"):
            self._windows_files.append(there)
        if content is None:
            there.mkdir(parents=True, exist_ok=True)
        elif isinstance(content, Path) and content.is_dir():
            copy_tree(content, there)
        else:
            data = content.read_bytes() if isinstance(content, Path) else content
            replace_file(there, data.encode("utf-8") if isinstance(data, str) else data)
        return there

    def home(self, name: str) -> str:
        """Make `name` the user: variables, profile folder and shell folders; returns the folder.

        GetUserName and GetUserProfileDirectory go on naming Wine's own user.
        """
        self._profile = rf"C:\users\{name}"
        self.variables.update(home_variables(self._profile, name))
        for folder in (r"AppData\Roaming", r"AppData\Local\Temp", "Documents", "Desktop"):
            self.place(rf"{self._profile}\{folder}", None)
        for value, folder in (
            ("AppData", r"AppData\Roaming"),
            ("Local AppData", r"AppData\Local"),
            ("Personal", "Documents"),
            ("Desktop", "Desktop"),
        ):
            self.registry.set(_SHELL_FOLDERS, value, rf"{self._profile}\{folder}", "REG_EXPAND_SZ")
        return self._profile

    # -- programs

    def start(self, command: str, **options: Unpack[Options]) -> Result:
        return self._session(options).run(command, options)

    @contextmanager
    def begin(self, command: str, **options: Unpack[Options]) -> Iterator[subprocess.Popen[bytes]]:
        """The program while it runs; killed with the block, and all that it started."""
        with self._session(options).begun(command, options) as (process, _):
            yield process

    def _session(self, options: Options) -> Session:
        self.registry.flush()
        options.setdefault("cwd", self._profile)
        user = home_variables(self._profile, self.lane.user)
        path = {"Path": ";".join([*self.path_entries, BASE_VARIABLES["Path"]])}
        variables = merged(BASE_VARIABLES, user, path, self.variables)
        return Session(self.lane.wine, self.lane.prefix.path, self.drives, variables)

    def wine(self, *args: str, **options: Unpack[Options]) -> Result:
        """Any Windows program, found as CreateProcess finds it."""
        return self.start(subprocess.list2cmdline(args), **options)

    def tool(self, *args: str, **options: Unpack[Options]) -> Result:
        """`python -m tritonwin ARGS`, the checkout's sources, in the lane's own Windows Python."""
        words, extra = self.lane.command(args)
        options["env"] = {**extra, **(options.get("env") or {})}
        return self.start(subprocess.list2cmdline(words), **options)

    # -- the end of the test

    def restore(self) -> None:
        """Registry, drive C: and environments as they were before the first change."""
        try:
            self.registry.restore()
        finally:
            for made in self._environments:
                made.remove()
            self._renew_drive()
            self.variables.clear()
            self.path_entries.clear()

    def _renew_drive(self) -> None:
        drive, template = self.drives.drive_c, self.lane.template_drive
        for there in self._windows_files:
            _renew(there, template / there.relative_to(drive))
        names = {each.name for folder in (drive, template) for each in folder.iterdir()}
        for name in names - _KEPT:
            _renew(drive / name, template / name)


def _renew(there: Path, original: Path) -> None:
    if there.is_dir() and not there.is_symlink():
        shutil.rmtree(there)
    else:
        there.unlink(missing_ok=True)
    if original.is_dir():
        copy_tree(original, there)
    elif original.exists():
        shutil.copy2(original, there)
