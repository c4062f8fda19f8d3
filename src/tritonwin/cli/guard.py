"""`tritonwin guard`: keep pip and ComfyUI-Manager from replacing what was proven to work."""

from __future__ import annotations

from tritonwin.cli.options import TargetOptions, switch
from tritonwin.errors import Exit

_ABOUT = """
    Keep the versions of torch, Triton and attention packages that were proven to work.

    The pip of this Python, conda, and uv in ComfyUI's folder then refuse to replace them;
    ComfyUI-Manager skips them.

    \b
    Examples:
      tritonwin guard on --app C:\\ComfyUI_windows_portable
      tritonwin guard status
      tritonwin guard off
    """


def _act(word: str, target: TargetOptions, as_json: bool) -> int:
    from tritonwin.journal import Store
    from tritonwin.output.documents import outcome_report
    from tritonwin.output.outcomes import GuardReport, of_guard
    from tritonwin.output.terminal import answer
    from tritonwin.remedies import guard

    facts = target.collect()
    if word == "status":
        outcome = guard.status(facts)
    else:
        act = {"on": guard.switch_on, "off": guard.switch_off}[word]
        outcome = act(facts, Store.default())
    report = outcome_report(GuardReport, facts.target, outcome)
    answer(report, of_guard(report), as_json=as_json)
    return Exit.PROBLEMS if outcome.drifted or outcome.missing else Exit.DONE


command = switch(
    "guard",
    _ABOUT,
    {
        "on": "Keep what is installed now. It has to be proven: tritonwin verify.",
        "off": "Allow other versions again: every file as it was, the edits of others kept.",
        "status": "Show what is kept, and what was replaced all the same (exit status 1).",
    },
    _act,
)
