"""Registry values that can be changed and restored with their type."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

RegistryKind = Literal["REG_SZ", "REG_EXPAND_SZ", "REG_DWORD"]


@dataclass(frozen=True, kw_only=True)
class RegistryValue:
    """A value of a kind that variables and settings of Windows have."""

    kind: RegistryKind = "REG_SZ"
    data: str | int


class RegistryWriter:
    """A registry; this one is that of a system without any: it is empty and takes nothing.

    Keys are spelled `HKCU\\Environment`, in the 64-bit view; names are case-insensitive. Every
    method may raise OSError; PermissionError where administrator rights are needed.
    """

    def value(self, key: str, name: str) -> RegistryValue | None:
        """The value; None where key or value are absent."""
        del key, name
        return None

    def set(self, key: str, name: str, value: RegistryValue | None) -> None:
        """Write a value; None removes it."""
        del name, value
        raise OSError(f"this system has no registry to write {key} into")


if sys.platform == "win32":
    import contextlib
    import ctypes
    import winreg
    from ctypes import wintypes

    _HIVES = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
    _NUMBERS: dict[RegistryKind, int] = {
        "REG_SZ": winreg.REG_SZ,
        "REG_EXPAND_SZ": winreg.REG_EXPAND_SZ,
        "REG_DWORD": winreg.REG_DWORD,
    }
    _KINDS = {number: kind for kind, number in _NUMBERS.items()}

    def _split(key: str) -> tuple[int, str]:
        hive, _, path = key.partition("\\")
        return _HIVES[hive], path

    class WindowsWriter(RegistryWriter):
        """The registry of this machine."""

        def value(self, key: str, name: str) -> RegistryValue | None:
            access = winreg.KEY_READ | winreg.KEY_WOW64_64KEY
            try:
                with winreg.OpenKey(*_split(key), 0, access) as handle:
                    data, number = winreg.QueryValueEx(handle, name)
            except FileNotFoundError:
                return None
            kind = _KINDS.get(number)
            if kind is None:
                raise OSError(f"{key}\\{name} has type {number}, which cannot be restored")
            return RegistryValue(kind=kind, data=data)

        def set(self, key: str, name: str, value: RegistryValue | None) -> None:
            access = winreg.KEY_SET_VALUE | winreg.KEY_WOW64_64KEY
            with winreg.CreateKeyEx(*_split(key), 0, access) as handle:
                if value is not None:
                    winreg.SetValueEx(handle, name, 0, _NUMBERS[value.kind], value.data)
                    return
                with contextlib.suppress(FileNotFoundError):
                    winreg.DeleteValue(handle, name)

    def announce_environment() -> None:
        """Tell running programs (Explorer) that the user's variables changed, as `setx` does."""
        send = ctypes.windll.user32.SendMessageTimeoutW
        send.argtypes = (
            wintypes.HWND,
            wintypes.UINT,
            wintypes.WPARAM,
            wintypes.LPCWSTR,
            wintypes.UINT,
            wintypes.UINT,
            wintypes.LPVOID,
        )
        everybody, setting_change, abort_if_hung = 0xFFFF, 0x001A, 0x0002
        send(everybody, setting_change, 0, "Environment", abort_if_hung, 200, None)

else:

    def announce_environment() -> None:
        """Nothing to tell anybody outside Windows."""


def this_writer() -> RegistryWriter:
    """The registry of the running machine."""
    if sys.platform == "win32":
        return WindowsWriter()
    return RegistryWriter()
