"""One-liners of Python: what a script does with files, since every shell does it differently.

They hold no double quote, so that every shell can pass them on as they are, and take their words
from the command line.
"""

from __future__ import annotations

_ASK = "sys.exit('set the variable ' + v + ' to USER:TOKEN')"
NEED = f"import os, sys; v = sys.argv[1]; os.environ.get(v) or {_ASK}"
FETCH = (
    "import base64, hashlib, os, shutil, sys, urllib.request as u; "
    "f, h, a, v = (sys.argv[1:] + ['', ''])[:4]; w = os.environ.get(v, ''); "
    f"os.path.exists(f) or not v or w or {_ASK}; r = a and u.Request(a); "
    "w and r.add_unredirected_header('Authorization', "
    "'Basic ' + base64.b64encode((w if ':' in w else w + ':').encode()).decode()); "
    "os.path.exists(f) or not a or shutil.copyfileobj(u.urlopen(r), open(f + '.part', 'wb')) "
    "or os.replace(f + '.part', f); "
    "os.path.exists(f) or sys.exit('missing: ' + f); "
    "h and hashlib.sha256(open(f, 'rb').read()).hexdigest() != h and sys.exit('wrong hash: ' + f)"
)
UNPACK_SDIST = (
    "import os, shutil, sys, tarfile; f, d, *skip = sys.argv[1:]; t = tarfile.open(f); "
    "[(os.makedirs(os.path.dirname(p), exist_ok=True), "
    "shutil.copyfileobj(t.extractfile(m), open(p, 'wb'))) "
    "for m in t if m.isfile() for n in [m.name.partition('/')[2]] "
    "if n[:1] not in '/' and ':' not in n and '..' not in n "
    "and not any((n + '/').startswith(s + '/') for s in skip) "
    "for p in [os.path.join(d, n)]]"
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
COPY = (
    "import os, shutil, sys; s, d, *skip = sys.argv[1:]; "
    "[(os.makedirs(os.path.dirname(t), exist_ok=True), shutil.copyfile(f, t)) "
    "for r, _, fs in os.walk(s) for n in fs for f in [os.path.join(r, n)] "
    "for q in [os.path.relpath(f, s).replace(os.sep, '/')] "
    "if not any((q + '/').startswith(k + '/') for k in skip) for t in [os.path.join(d, q)]]"
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
