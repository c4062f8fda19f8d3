"""Registry values that can be changed and restored with their type."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

RegistryKind = Literal[
    "REG_NONE", "REG_SZ", "REG_EXPAND_SZ", "REG_BINARY", "REG_DWORD", "REG_MULTI_SZ", "REG_QWORD"
]


@dataclass(frozen=True, kw_only=True)
class RegistryValue:
    """A value as regedit shows it: bytes are hexadecimal text."""

    kind: RegistryKind = "REG_SZ"
    data: str | int | tuple[str, ...]


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
        """Write a value below a key that exists; None removes it."""
        del name, value
        raise OSError(f"this system has no registry to write {key} into")

    def exists(self, key: str) -> bool:
        del key
        return False

    def is_empty(self, key: str) -> bool:
        """True where the key has neither values nor keys below it."""
        del key
        return True

    def make_key(self, key: str) -> None:
        """Make a key whose parent exists."""
        raise OSError(f"this system has no registry to write {key} into")

    def remove_key(self, key: str) -> None:
        """Remove an empty key."""
        raise OSError(f"this system has no registry to write {key} into")


if sys.platform == "win32":
    import contextlib
    import ctypes
    import winreg
    from ctypes import wintypes
    from typing import Any

    _HIVES = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
    _NUMBERS: dict[RegistryKind, int] = {
        "REG_NONE": winreg.REG_NONE,
        "REG_SZ": winreg.REG_SZ,
        "REG_EXPAND_SZ": winreg.REG_EXPAND_SZ,
        "REG_BINARY": winreg.REG_BINARY,
        "REG_DWORD": winreg.REG_DWORD,
        "REG_MULTI_SZ": winreg.REG_MULTI_SZ,
        "REG_QWORD": winreg.REG_QWORD,
    }
    _KINDS = {number: kind for kind, number in _NUMBERS.items()}
    _RAW: frozenset[RegistryKind] = frozenset({"REG_NONE", "REG_BINARY"})

    def _open(key: str, access: int) -> winreg.HKEYType:
        hive, _, path = key.partition("\\")
        return winreg.OpenKey(_HIVES[hive], path, 0, access | winreg.KEY_WOW64_64KEY)

    class WindowsWriter(RegistryWriter):
        """The registry of this machine."""

        def value(self, key: str, name: str) -> RegistryValue | None:
            try:
                with _open(key, winreg.KEY_READ) as handle:
                    data, number = winreg.QueryValueEx(handle, name)
            except FileNotFoundError:
                return None
            kind = _KINDS.get(number)
            if kind is None:
                raise OSError(f"{key}\\{name} has type {number}, which cannot be restored")
            if kind in _RAW:
                return RegistryValue(kind=kind, data=(data or b"").hex())
            if kind == "REG_MULTI_SZ":
                return RegistryValue(kind=kind, data=tuple(data or ()))
            return RegistryValue(kind=kind, data=data)

        def set(self, key: str, name: str, value: RegistryValue | None) -> None:
            with _open(key, winreg.KEY_SET_VALUE) as handle:
                if value is None:
                    with contextlib.suppress(FileNotFoundError):
                        winreg.DeleteValue(handle, name)
                    return
                data: Any = value.data
                if value.kind in _RAW:
                    data = bytes.fromhex(data)
                elif isinstance(data, tuple):
                    data = list(data)
                winreg.SetValueEx(handle, name, 0, _NUMBERS[value.kind], data)

        def exists(self, key: str) -> bool:
            try:
                _open(key, winreg.KEY_READ).Close()
            except FileNotFoundError:
                return False
            return True

        def is_empty(self, key: str) -> bool:
            with _open(key, winreg.KEY_READ) as handle:
                keys, values, _ = winreg.QueryInfoKey(handle)
            return not keys and not values

        def make_key(self, key: str) -> None:
            hive, _, path = key.partition("\\")
            access = winreg.KEY_WRITE | winreg.KEY_WOW64_64KEY
            winreg.CreateKeyEx(_HIVES[hive], path, 0, access).Close()

        def remove_key(self, key: str) -> None:
            hive, _, path = key.partition("\\")
            winreg.DeleteKeyEx(_HIVES[hive], path, winreg.KEY_WOW64_64KEY, 0)

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
