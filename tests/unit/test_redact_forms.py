"""No secret survives: every form of a secret, in every writing, in every place of a log."""

from __future__ import annotations

import html
import itertools
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor, hide_secrets

JDOE = Identity(
    users=("jdoe",),
    homes=(r"C:\Users\jdoe",),
    hosts=("gpu-rig", "NAS01"),
    domains=("CORPNET",),
    companies=("Contoso Ltd",),
)


def _made() -> list[str]:
    """Secrets of well-known kinds, and such as only their place tells."""
    rng = random.Random(16)

    def of(letters: str, count: int) -> str:
        return "".join(rng.choices(letters, k=count))

    word = string.ascii_letters + string.digits
    kinds = (
        *("hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "npm_", "r8_", "nvapi-"),
        *("rpa_", "gsk_", "xai-"),
        *("pypi-AgEI", "sk-proj-1", "sk-1", "sk_live_", "api_org_", "AIza"),
    )
    shaped = [kind + of(word, 36) for kind in kinds]
    shaped += [
        f"AKIA{of(string.ascii_uppercase + string.digits, 16)}",
        f"xoxb-123456-{of(word, 20)}",
    ]
    shaped += [f"eyJ{of(word, 20)}.eyJ{of(word, 30)}.{of(word, 20)}"]
    hexes = [of("0123456789abcdef", 32) for _ in range(4)]
    lower = [of(string.ascii_lowercase + string.digits, n) for n in (20, 24, 32, 40)]
    mixed = [of(word, n) for n in (16, 18, 20, 24, 28, 32, 40, 43, 64, 80)]
    marked = [f"{of(word, 9)}7{mark}{of(word, 12)}" for mark in "-_.~"]
    return shaped + hexes + lower + mixed + marked


SECRETS = _made()
FORMS = r"""
--token {}
--token={}
--hf-token "{}"
--token '{}'
['--token', '{}']
["--api-key", "{}"]
--hf_token {}
--api_key={}
--password {}
--client-secret={}
/DTOKEN={}
-DTOKEN={}
-DPASS:STRING={}
-DHF_TOKEN:STRING={}
/DAPI_KEY={}
HF_TOKEN={}
set HF_TOKEN={}
export OPENAI_API_KEY='{}'
$env:WANDB_API_KEY = "{}"
civitai_key: {}
api_key: {}
password: {}
secret = "{}"
client_secret={}
{'HF_TOKEN': '{}'}
{"api_key": "{}", "n": 1}
('HF_TOKEN', '{}')
{"name": "HF_TOKEN", "value": "{}"}
os.environ["HF_TOKEN"] = "{}"
token={}
https://bob:{}@host.example/simple
git+https://{}@host.example/x.git
bob:{}@proxy:3128
https://conda.example.org/t/{}/main/noarch
https://h.example/x?a=1&token={}&b=2
https://h.example/x?Policy={}&Key-Pair-Id={}&x=1
https://h.example/x?X-Amz-Signature={}
https://h.example/x?sv=1&sig={}
Authorization: Bearer {}
Authorization: token {}
curl -H 'X-Api-Key: {}' h
{"Authorization": "Basic {}"}
Cookie: session={}
AccountName=x;AccountKey={};EndpointSuffix=y
curl -u bob:{} h
_authToken={}
machine h login bob password {}
PRIVATE-TOKEN: {}
Bearer {}
wget --header="Authorization: Bearer {}" h
wget --header 'PRIVATE-TOKEN: {}' h
docker login -u bob -p {} registry.example
docker login --password={} registry.example
pip config set global.index-url https://u:{}@host/simple
HUGGING_FACE_HUB_TOKEN={}
login(token="{}")
login(token='{}', add_to_git_credential=True)
from_pretrained("a/b", use_auth_token="{}")
from_pretrained("a/b", token='{}')
huggingface-cli login --token {}
git clone https://oauth2:{}@gitlab.example/x.git
git clone https://{}:x-oauth-basic@github.com/x/y.git
git -c http.extraheader="AUTHORIZATION: basic {}" fetch
aws_secret_access_key = {}
aws_session_token={}
"aws_session_token": "{}"
AWS_SECRET_ACCESS_KEY: {}
sshpass -p {} ssh a@b
https://h.example/cb?access_token={}&x=1
https://h.example/cb#access_token={}&x=1
https://h.example/cb?refresh_token={}
https://h/api?key={}
https://h/api?api_key={}&v=2
token: "{}"
<password>{}</password>
<add key="ClearTextPassword" value="{}" />
net use \\srv\\share {} /user:bob
net use z: \\srv\\share /user:bob {}
mysql -u bob -p{} db
mysqldump --host h -p'{}' db
7z x -p{} a.7z
sqlcmd -S srv -U sa -P {} -Q x
unzip -P {} a.zip
redis-cli -h h -a {} ping
plink -pw {} bob@h
schtasks /create /ru bob /rp {} /tn x
net user bob {} /add
openssl rsa -in a -passin pass:{}
aws configure set aws_secret_access_key {}
HF_TOKEN -> {}
password --> {}
cmdkey /add:srv /user:bob /pass:{}
Set-Cookie: sid={}; Path=/
headers={'Authorization': 'Bearer {}'}
headers = {"X-API-Key": "{}"}
"Authorization": "token {}"
Authorization: Basic {}
Authorization={}
DATABASE_URL=postgres://bob:{}@db:5432/x
redis://:{}@cache:6379/0
mongodb+srv://bob:{}@c.example/x
Server=db;User Id=bob;Password={};
Data Source=db;pwd={};
SharedAccessSignature=sv=1&sig={}
DefaultEndpointsProtocol=https;AccountName=x;AccountKey={}
HF_TOKEN                       {}
    HF_TOKEN    REG_SZ    {}
reg add HKCU\Environment /v HF_TOKEN /t REG_SZ /d {} /f
https://discord.com/api/webhooks/1234567890/{}
setx HF_TOKEN {}
setx WANDB_API_KEY "{}"
SET "HF_TOKEN={}"
$Env:HF_TOKEN='{}'
[Environment]::SetEnvironmentVariable("HF_TOKEN", "{}")
os.environ['HF_TOKEN'] = '{}'
os.environ.setdefault("OPENAI_API_KEY", "{}")
os.putenv('HF_TOKEN', '{}')
environ({'HF_TOKEN': '{}', 'PATH': 'x'})
getpass: password = {}
password is {}
Password for 'https://bob@github.com': {}
Enter your token: {}
wandb: Paste an API key from your profile and hit enter: {}
wandb login {}
--hf-token={} --port 8188
--hf_token  "{}"
python main.py --civitai-token {} --listen
python main.py --api-key '{}'
-e HF_TOKEN={} image
docker run -e "HF_TOKEN={}" image
env HF_TOKEN={} python x.py
ENV HF_TOKEN {}
HF_TOKEN: '{}'
hf_token = {}
"hf_token" : "{}"
{"token":"{}"}
{"password":"{}","user":"bob"}
api_key='{}',
openai.api_key = "{}"
client = OpenAI(api_key="{}")
apiKey: "{}"
"apiKey": "{}"
accessToken={}
clientSecret: {}
_auth={}
//registry.example.com/:_authToken={}
registry=https://x/:_password={}
password={}
passwd: {}
PASSWORD "{}"
pass={}
TWINE_PASSWORD={}
UV_INDEX_PRIVATE_PASSWORD={}
UV_PUBLISH_TOKEN={}
PIP_INDEX_URL=https://bob:{}@h/simple
Looking in indexes: https://__token__:{}@h/simple
index-url = https://{}@h.example/simple
extra-index-url=https://h.example/{}/simple/
http_proxy=http://bob:{}@proxy:3128
HTTPS_PROXY=bob:{}@proxy.corp.example:8080
ssh://bob:{}@h/x.git
ftp://bob:{}@h/x
curl -u 'bob:{}' h
curl --user bob:{} h
curl -H "Authorization: Bearer {}" h
curl -b "session={}" h
curl --cookie session={} h
curl -d '{"password": "{}"}' h
curl -d password={} h
Invoke-WebRequest -Headers @{ Authorization = "Bearer {}" }
X-Auth-Token: {}
x-goog-api-key: {}
api-key: {}
Ocp-Apim-Subscription-Key: {}
NGC_API_KEY={}
secret_key: {}
SECRET={}
MY_SECRET_VALUE={}
TOKEN_VALUE={}
encryption_key = "{}"
ACCESS_KEY={}
signing key: {}
bearer_token={}
Bearer: {}
jwt={}
session_id={}
sessionid={}; csrftoken=x
csrf_token={}
""".strip().splitlines()


WRITINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "coloured": lambda text: f"\x1b[32m{text}\x1b[0m",
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "json lines": lambda text: json.dumps({"log": f"first\n{text}\nlast"}),
    "coloured json": lambda text: json.dumps(f"\x1b[1;31m{text}\x1b[0m\nnext"),
    "repr": lambda text: repr([text]),
    "bytes": lambda text: repr(text.encode()),
    "html": html.escape,
    "percent": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "ascii escapes": lambda text: text.replace("=", "\\u003d").replace("&", "\\u0026"),
}
PLACES = (
    *("{}", "  {}", "error: {}", "2026-11-28 12:00:01 INFO {}", "[pip] {} ", "$ {}", "> {}"),
    *("first\n{}\nlast", "run: {} && python x.py", "C:\\ai\\python.exe -c x {}", "\t{}\r\n"),
    *("CalledProcessError: {} returned", "({})", "step 1/2 : {}"),
)
JSON_WRITINGS = {"json", "json in json", "json lines", "coloured json"}


def _combinations() -> Iterator[tuple[str, str, str, str]]:
    return itertools.product(SECRETS, FORMS, WRITINGS, PLACES)


def _json(text: str, writing: str) -> bool:
    try:
        value = json.loads(text)
        return writing != "json in json" or json.loads(value) is not None
    except ValueError:
        return False


def leaks(chosen: Iterator[tuple[str, str, str, str]]) -> list[str]:
    """Texts in which eight characters of the secret are left, or JSON is no longer JSON."""
    found = []
    redactor = Redactor(JDOE)
    for secret, form, writing, place in chosen:
        written = WRITINGS[writing](form.replace("{}", secret))
        text = place.replace("{}", written)
        redacted = redactor.text(text)
        parts = [secret[i : i + 8] for i in range(len(secret) - 7)]
        if any(part in redacted for part in parts) or (
            writing in JSON_WRITINGS and place == "{}" and not _json(redacted, writing)
        ):
            found.append(f"{text!r} -> {redacted!r}")
    return found


def test_the_combinations_are_many() -> None:
    assert min(len(SECRETS), len(FORMS)) >= 40
    assert len(WRITINGS) >= 10
    assert len(PLACES) >= 10


def test_no_secret_survives_in_a_sample() -> None:
    rng = random.Random(20261128)
    sample = (
        tuple(rng.choice(kind) for kind in (SECRETS, FORMS, list(WRITINGS), PLACES))
        for _ in range(4000)
    )
    assert leaks(sample) == []  # type: ignore[arg-type]


@pytest.mark.full
def test_no_secret_survives_anywhere() -> None:
    assert leaks(_combinations()) == []


X = "Xq7vB2mZ9kL4wT1p"
HF = "hf_AbCdEfGhIjKlMnOpQrSt"
ITEMS = [
    # escapes before a secret or a name
    (f"\x1b[32m{HF}\x1b[0m", "\x1b[32m<token>\x1b[0m"),
    (f"\x1b[1mHF_TOKEN\x1b[0m=\x1b[33m{X}\x1b[0m", "\x1b[1mHF_TOKEN\x1b[0m=\x1b[33m<token>\x1b[0m"),
    (
        "\x1b[35mgpu-rig\x1b[0m /home/\x1b[34mbo\x1b[0m/x",
        "\x1b[35m<host>\x1b[0m /home/\x1b[34m<user-2>\x1b[0m/x",
    ),
    (rf'"using\n{HF}"', r'"using\n<token>"'),
    (r'"\n/home/bo/x"', r'"\n/home/<user-2>/x"'),
    (r'"a\nbob@example.org"', r'"a\n<email>"'),
    # options
    (f'--hf-token "{X}"', '--hf-token "<token>"'),
    (f"['--token', '{X}']", "['--token', '<token>']"),
    (f"civitai_key: {X}", "civitai_key: <token>"),
    (f"/DTOKEN={X} -DPASS:STRING={X}", "/DTOKEN=<token> -DPASS:STRING=<token>"),
    # addresses
    (f"https://conda.example.org/t/{X}/main", "https://conda.example.org/t/<token>/main"),
    (f"https://feeds.example.com/{X}{X}/simple/", "https://feeds.example.com/<token>/simple/"),
    (f"bob:{X}@proxy:3128", "<token>@proxy:3128"),
    (f"a;AccountKey={X}==;b=1", "a;AccountKey=<token>;b=1"),
    (f"https://h/x?Policy={X}&Key-Pair-Id={X}", "https://h/x?Policy=<token>&Key-Pair-Id=<token>"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nabc=\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----<token>-----END RSA PRIVATE KEY-----",
    ),
    # people
    ("jdoe@gpu-rig:~$ ls", "<user>@<host>:~$ ls"),
    ("bo@box:~/x$ ls", "<user-2>@<host-3>:~/x$ ls"),
    ("ssh jdoe@10.1.2.3", "ssh <user>@10.1.2.3"),
    ("git@github.com:jdoe/x", "git@github.com:<user>/x"),
    # companies
    ("C:/x/OneDrive%20-%20Corp/y", "C:/x/OneDrive%20-%20<organisation>/y"),
    ("in OneDrive - Corp", "in OneDrive - <organisation>"),
    ("OneDrive - Corp, then", "OneDrive - <organisation>, then"),
    (r"C:\x\Contoso Ltd\Documents", r"C:\x\<organisation>\Documents"),
    # paths
    ("%5C%5CHOST%5Cc$", "%5C%5C<host-3>%5Cc$"),
    ("//nas/share", "//<host-3>/share"),
    ("mail%40nas01", "<user-2>%40<host-2>"),
    ("-isystem/home/bo", "-isystem/home/<user-2>"),
    (r"C:\Users\Eva Maria>dir", r"C:\Users\<user 2>>dir"),
    # and what must stay
    (r"D:\x\site-packages\jdoe\a.py: import jdoe, python -m jdoe", None),
    ("pytorch/pytorch:2.9@sha256:0123456789abcdef0123456789abcdef", None),
    ("undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs", None),
    ("--hash=sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", None),
    ("eos_token: </s1>, max_new_tokens=20, cache_key=3f2a9c81b7d6, token: 5", None),
    ("https://files.example.org/packages/whl/cu128/torch-2.9.0-cp312-win_amd64.whl", None),
    ("// see //wiki.example.org/page", None),
]


@pytest.mark.parametrize(("text", "expected"), ITEMS)
def test_text(text: str, expected: str | None) -> None:
    once = Redactor(JDOE).text(text)
    assert once == (text if expected is None else expected)
    assert Redactor(JDOE).text(once) == once


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize(
    ("form", "name"),
    [
        *(
            (form, "jdoe")
            for form in (r"C:\Users\{}\x", "/home/{}/x", "{}@gpu-rig:~$ ls", "ssh {}@h")
        ),
        *((form, "jdoe") for form in ("user {} signed in", "git@github.com:{}/x", r"CORPNET\{}")),
        *(
            (form, "bo")
            for form in (r"C:\Users\{}\x", "/home/{}/x", "-isystem/home/{}/inc", "ssh {}@h")
        ),
        *((form, "gpu-rig") for form in (r"\\{}\c$", "//{}/share", "on {}.", "http://{}:8188/")),
        *((form, "Contoso Ltd") for form in (r"C:\x\OneDrive - {}\y", r"D:\{}\y")),
    ],
)
def test_no_name_survives_in_any_writing(form: str, name: str, writing: str) -> None:
    text = WRITINGS[writing](form.replace("{}", name))
    redacted = Redactor(JDOE).text(text)
    assert name not in redacted.replace("%20", " ")
    if writing in JSON_WRITINGS:
        json.loads(redacted)


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGINx.eyJzdWIiOiIxMjM0In0.abc-_defRSA PRIVATE KEY-----\nMIIEabc\n{X}",
        f'-----BEGIN RSA PRIVATE KEY-----\n={X}", "/DTOKEN={X}", "-DTOKEN={X}',
        f"-----BEGIN RSA PRIVATE KEY-----\n{X}\n<end> of it",
        f'-----BEGIN RSA PRIVATE "--hf-token {X}{X}{X}", KEY-----\nMIIEabc\n',
    ],
)
def test_half_a_key_goes_at_once(text: str) -> None:
    once = Redactor(JDOE).text(text)
    assert X not in once
    assert "MIIEabc" not in once
    assert Redactor(JDOE).text(once) == once


def test_lines_of_a_key_go_where_they_are_items_of_a_list() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0",
        "b2s=",
        "-----END PRIVATE KEY-----",
    ]
    redacted = json.loads(Redactor(JDOE).text(json.dumps(lines)))
    assert redacted == [lines[0], "<token>", "<token>", lines[-1]]


LOGS = sorted((Path(__file__).parents[1] / "corpus").rglob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_nothing_else_changes_in_a_log(log: Path) -> None:
    text = log.read_text("utf-8", errors="replace")
    redacted = Redactor(JDOE).text(text)
    assert Redactor(JDOE).text(redacted) == redacted
    marks = "<(?:user|\u00fcser|host|email|uuid)(?:~1)?(?:[ -]\\d+)?>"
    for before, after in zip(text.split("\n"), redacted.split("\n"), strict=True):
        kept = map(re.escape, re.split(marks, after))
        assert re.fullmatch('[^\\\\/:"]{1,40}?'.join(kept), before), after


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from([text for text, _ in ITEMS]) | st.text(max_size=20), max_size=5),
    st.sampled_from(sorted(JSON_WRITINGS)),
)
def test_json_in_json_out(pieces: list[str], writing: str) -> None:
    redacted = Redactor(JDOE).text(WRITINGS[writing](" ".join(pieces)))
    value = json.loads(redacted)
    assert not isinstance(value, str) or writing != "json in json" or json.loads(value) is not None
    assert Redactor(JDOE).text(redacted) == redacted


def test_secrets_alone_leave_names() -> None:
    assert hide_secrets(rf"C:\Users\jdoe {HF}") == r"C:\Users\jdoe <token>"
