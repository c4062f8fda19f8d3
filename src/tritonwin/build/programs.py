"""One-liners of Python: what a script does with files, since every shell does it differently.

They hold no double quote, so that every shell can pass them on as they are, and take their words
from the command line.
"""

from __future__ import annotations

from tritonwin.support import archives

_ASK = "sys.exit('set the variable ' + v + ' to USER:TOKEN')"
NEED = f"import os, sys; v = sys.argv[1]; os.environ.get(v) or {_ASK}"
# Two runs fetch side by side, each into a part of its own, which goes when it ends. What has
# another hash never gets the name by which the next run would find it.
FETCH = (
    "import atexit, base64, hashlib, os, shutil, sys, urllib.request as u; "
    "f, h, a, v = (sys.argv[1:] + ['', ''])[:4]; w = os.environ.get(v, ''); "
    f"os.path.exists(f) or not v or w or {_ASK}; r = a and u.Request(a); "
    "w and r.add_unredirected_header('Authorization', "
    "'Basic ' + base64.b64encode((w if ':' in w else w + ':').encode()).decode()); "
    "p = f + '.' + str(os.getpid()) + '.part'; g = f if os.path.exists(f) or not a else p; "
    "o = g == p and open(p, 'wb'); "
    "o and atexit.register(lambda: (o.close(), os.path.exists(p) and os.remove(p))); "
    "o and (shutil.copyfileobj(u.urlopen(r), o), o.close()); "
    "os.path.exists(g) or sys.exit('missing: ' + f); "
    "h and hashlib.sha256(open(g, 'rb').read()).hexdigest() != h and sys.exit('wrong hash: ' + f); "
    "o and (os.path.exists(f) or os.replace(p, f))"
)
# below the topmost folder, nowhere else, and not what is skipped
_INNER = (
    "for n in [n.replace(chr(92), '/').partition('/')[2]] "
    "if n[:1] not in '/' and ':' not in n and '..' not in n.split('/') "
    "and not any((n + '/').startswith(s + '/') for s in skip) "
    "for p in [os.path.join(d, n)]]"
)
_BOUND = (
    f"(len(m) > {archives.MOST_MEMBERS} or sum(sizes) > min({archives.MOST_BYTES}, "
    f"max({archives.SMALL}, {archives.RATIO} * os.path.getsize(f)))) "
    "and sys.exit('it would unpack to too much: ' + f); "
)
UNPACK_TAR = (
    "import os, shutil, sys, tarfile; f, d, *skip = sys.argv[1:]; t = tarfile.open(f); "
    f"m = t.getmembers(); sizes = [i.size for i in m]; {_BOUND}"
    "[(i.isfile() or sys.exit('neither file nor folder: ' + n), "
    "os.makedirs(os.path.dirname(p), exist_ok=True), "
    "shutil.copyfileobj(t.extractfile(i), open(p, 'wb'))) "
    f"for i in m if not i.isdir() for n in [i.name] {_INNER}"
)
UNPACK_ZIP = (
    "import os, shutil, sys, zipfile; f, d, *skip = sys.argv[1:]; z = zipfile.ZipFile(f); "
    f"m = z.infolist(); sizes = [i.file_size for i in m]; {_BOUND}"
    "[(i.external_attr >> 28 == 10 and sys.exit('neither file nor folder: ' + n), "
    "os.makedirs(os.path.dirname(p), exist_ok=True), "
    "shutil.copyfileobj(z.open(i), open(p, 'wb'))) "
    f"for i in m if not i.is_dir() for n in [i.filename] {_INNER}"
)
UNPACK_WHEEL = (
    "import os, sys, zipfile; f, d = sys.argv[1:]; z = zipfile.ZipFile(f); "
    "[(os.makedirs(os.path.dirname(p), exist_ok=True), open(p, 'wb').write(z.read(n)), "
    "os.chmod(p, 0o755)) "
    "for n in z.namelist() if n.startswith('nvidia/cu13/') and n[-1] != '/' and n[12] != '/' "
    "and ':' not in n and '..' not in n "
    "for p in [os.path.join(d, n[12:])]]"
)
NAME_LIBRARIES = (
    "import os, sys; d = sys.argv[1]; "
    "[os.symlink(n, os.path.join(d, n.partition('.so.')[0] + '.so')) for n in os.listdir(d) "
    "if '.so.' in n and not os.path.lexists(os.path.join(d, n.partition('.so.')[0] + '.so'))]"
)
# links to folders stay links, and virtual environments stay behind, as in tritonwin's own copy
COPY = (
    "import os, shutil, sys; s, d, *skip = sys.argv[1:]; s = os.path.realpath(s); "
    "link = __import__('_winapi').CreateJunction if os.name == 'nt' else os.symlink; "
    "linked = lambda p: os.path.islink(p) "
    "or getattr(os.lstat(p), 'st_reparse_tag', 0) == 2684354563; "
    "[(os.makedirs(os.path.dirname(t), exist_ok=True), shutil.copyfile(f, t) if os.path.isfile(f) "
    "else os.path.lexists(t) or link("
    "os.path.join(d, os.path.relpath(g, s)) if (g + os.sep).startswith(s + os.sep) else g, t)) "
    "for r, ds, fs in os.walk(s) if r == s or 'pyvenv.cfg' not in fs or ds.clear() "
    "for ls in [[n for n in ds if linked(os.path.join(r, n))]] for _ in [[*map(ds.remove, ls)]] "
    "for n in ls + fs for f in [os.path.join(r, n)] if os.path.isfile(f) or linked(f) "
    "for q in [os.path.relpath(f, s).replace(os.sep, '/')] "
    "if not any((q + '/').startswith(k + '/') for k in skip) "
    "for t in [os.path.join(d, q)] for g in [os.path.realpath(f)]]"
)
CHECKED_OUT = ".checked-out"
_REFUSE_LINKS = (
    "r = os.path.realpath; [sys.exit('a link to elsewhere: ' + n) for n in names "
    "if os.path.commonpath((r(d), r(os.path.join(d, n)))) != r(d)]; "
)
LEAVE_OUT = (
    f"import os, shutil, sys; d, *names = sys.argv[1:]; {_REFUSE_LINKS}"
    # what git stores is read-only
    "[os.chmod(os.path.join(r, n), 0o700) "
    "for g in names for r, _, fs in os.walk(os.path.join(d, g)) for n in fs "
    "if not os.path.islink(os.path.join(r, n))]; "
    "[shutil.rmtree(os.path.join(d, g), True) for g in names]; "
    f"open(os.path.join(d, '{CHECKED_OUT}'), 'w').close()"
)
EDIT = (
    f"import os, sys; d, f, need = sys.argv[1:]; names = [f]; {_REFUSE_LINKS}"
    "s = open(f, encoding='utf-8', newline='').read(); "
    "a, b = os.environ['TW_FIND'], os.environ['TW_REPLACE']; "
    "a in s or b in s or need == 'optional' or sys.exit('not found in ' + f + ': ' + a); "
    "b in s or open(f, 'w', encoding='utf-8', newline='').write(s.replace(a, b))"
)
LINK = (
    "import os, sys; open(os.path.join(sys.argv[1], 'target.pth'), 'w', encoding='utf-8')"
    ".write(chr(10).join(p for p in sys.path if p.endswith('-packages')))"
)
