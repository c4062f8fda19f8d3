"""Start tritonwin from its single file. Valid on any Python 3, to say so where it is too old.

Python reads the whole directory of a zip and compiles what it imports from it at every start. So
this archive has few members, one of which is an archive with everything else. That is laid out once
below tritonwin's own data folder, where Python keeps what it compiled. Where nothing can be written,
or where others could have written, it is imported from memory.
"""

import os
import sys
import time

OLDEST = (3, 10)
DAY = 24 * 3600


def data_folder():
    """`data_folder` of tritonwin.system.host, before platformdirs can be imported."""
    named = os.environ.get("TRITONWIN_HOME")
    if named:
        return os.path.abspath(named)
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA")
        return local and os.path.join(local, "tritonwin")
    share = os.environ.get("XDG_DATA_HOME") or os.path.join("~", ".local", "share")
    home = os.path.expanduser(share)
    return os.path.isabs(home) and os.path.join(home, "tritonwin")


def is_below(folder, parent):
    inner, outer = (os.path.normcase(os.path.abspath(each)) for each in (folder, parent))
    return inner.startswith(outer.rstrip(os.sep) + os.sep)


def others_can_write(folder, bits):
    status = os.stat(folder)
    return status.st_uid not in (0, os.getuid()) or bool(status.st_mode & bits)


def is_ours_alone(data, parent, folder):
    """True if nobody else can put code into `folder`, `parent` and `data`, if they exist.

    Windows' permissions are hard to read; there only the user's own folders count.
    Elsewhere the data folder may belong to a group, as everything does under umask 002; what is
    laid out in it is the user's alone.
    """
    if os.name == "nt":
        owned = (os.environ.get(name) for name in ("USERPROFILE", "LOCALAPPDATA"))
        return any(each and is_below(data, each) for each in owned)
    chain = ((data, 0o002), (parent, 0o022), (folder, 0o022))
    return not any(os.path.exists(each) and others_can_write(each, bits) for each, bits in chain)


def is_there(folder):
    """True if the copy exists. Once a day its file USED gets the current time.

    Copies that were not used for long are deleted when another version is laid out.
    """
    used = os.path.join(folder, "USED")
    try:
        if not os.path.exists(used) or os.stat(used).st_mtime < time.time() - DAY:
            open(used, "ab").close()
            os.utime(used)
    except OSError:  # it can only be read
        pass
    return os.path.isdir(folder)


def laid_out(build, contents):
    """The folder with the contents, made now if need be; None where it cannot be or must not."""
    try:
        data = data_folder()
        if not data:
            return None
        parent = os.path.join(data, "app")
        folder = os.path.join(parent, build)
        if not is_ours_alone(data, parent, folder):
            return None
        if not os.path.isdir(folder):
            from pathlib import Path

            import tritonwin_copy

            tritonwin_copy.lay_out(contents(), Path(folder))
            if not is_ours_alone(data, parent, folder):
                return None
        return folder if is_there(folder) else None
    except OSError:
        return None  # a full disk, a read-only home, a current folder that was deleted


def main():
    if sys.version_info < OLDEST:
        sys.stderr.write(
            "error: tritonwin needs Python 3.10 or later; %s is %d.%d\n"
            "help:  Start it with another Python, and name this one: tritonwin.pyz doctor --python"
            " \"%s\"\n" % ((sys.executable,) + sys.version_info[:2] + (sys.executable,))
        )
        return 2
    archive = __loader__

    def contents():
        import zipfile

        try:
            # unlike Python's importer it looks at the checksum
            with zipfile.ZipFile(archive.archive) as whole:
                return whole.read("app.zip")
        except Exception:  # damage is told in many ways
            sys.stderr.write("error: %s is damaged\n" % archive.archive)
            sys.stderr.write("help:  Copy or fetch it again.\n")
            sys.exit(2)

    folder = laid_out(archive.get_data("BUILD").decode("ascii").strip(), contents)
    if folder is None:
        from pathlib import Path

        import tritonwin_in_memory

        tritonwin_in_memory.install(contents(), Path(__file__).absolute().parent)
        from tritonwin.__main__ import main as start

        return start()
    sys.path.insert(0, folder)
    try:
        from tritonwin.__main__ import main as start

        status = start()
    except Exception as failure:  # whatever a damaged module does when it is imported
        return mended(folder, contents, failure)
    return mended(folder, contents, None) if status == 3 else status


def mended(folder, contents, failure):
    """Status 3, once the copy is again what this file holds, in case that was the reason."""
    from pathlib import Path

    import tritonwin_copy

    damaged, mendable = tritonwin_copy.mend(contents(), Path(folder))
    if failure is not None:
        sys.stderr.write("error: tritonwin failed: %s: %s\n" % (type(failure).__name__, failure))
    if not mendable:
        sys.stderr.write(
            "help:  Its copy in %s cannot be renewed: delete that folder, which holds nothing of"
            " yours, and start it again.\n" % folder
        )
    elif failure is not None or damaged:
        sys.stderr.write("help:  Its copy in %s has been renewed; start it again.\n" % folder)
    return 3


if __name__ == "__main__":
    sys.exit(main())
