"""Start tritonwin from its single file. Valid on any Python 3, to say so where it is too old.

Python compiles what it imports from a zip anew at every start. So the contents are laid out once
below tritonwin's own data folder, where Python keeps what it compiled; where nothing can be
written, they are imported from the zip.
"""

import os
import sys

OLDEST = (3, 10)


def data_folder():
    """Where `tritonwin.facts.data_folder` would have it, before platformdirs can be asked."""
    named = os.environ.get("TRITONWIN_HOME")
    if named:
        return os.path.abspath(named)
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA")
        return local and os.path.join(local, "tritonwin")
    share = os.environ.get("XDG_DATA_HOME") or os.path.join("~", ".local", "share")
    home = os.path.expanduser(share)
    return os.path.isabs(home) and os.path.join(home, "tritonwin")


def others_can_write(folder):
    """Whether somebody else may have put code there; Windows' own folder is the user's alone."""
    if os.name == "nt":
        return False
    status = os.stat(folder)
    return status.st_uid not in (0, os.getuid()) or bool(status.st_mode & 0o002)


def laid_out(file, build):
    """The folder with the contents, made now if need be; None where it cannot be."""
    data = data_folder()
    if not data:
        return None
    folder = os.path.join(data, "app", build)
    if os.path.isdir(folder):
        chain = (data, os.path.dirname(folder), folder)
        return None if any(others_can_write(each) for each in chain) else folder
    # they take as long to import as all that is needed at the later starts
    import shutil
    import tempfile
    import zipfile

    made = None
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        made = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(folder))
        with zipfile.ZipFile(file) as archive:
            members = [name for name in archive.namelist() if name.startswith("app/")]
            archive.extractall(made, members)
        os.rename(os.path.join(made, "app"), folder)  # at once: nobody sees half of it
    except OSError:
        pass  # a full disk, a read-only home, or another one was faster
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
    return folder if os.path.isdir(folder) and not others_can_write(data) else None


def main():
    if sys.version_info < OLDEST:
        sys.stderr.write(
            "error: tritonwin needs Python 3.10 or later; %s is %d.%d\n"
            "help:  Start it with another Python, and name this one: tritonwin.pyz doctor --python"
            " \"%s\"\n" % ((sys.executable,) + sys.version_info[:2] + (sys.executable,))
        )
        return 2
    here = os.path.dirname(os.path.abspath(__file__))  # the zip itself
    build = __loader__.get_data("BUILD").decode("ascii").strip()
    folder = laid_out(here, build)
    sys.path.insert(0, folder or os.path.join(here, "app"))
    from tritonwin.__main__ import main as start

    return start()


if __name__ == "__main__":
    sys.exit(main())
