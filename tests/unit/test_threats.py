"""Forbidden in the source: shells, unknown starts of programs, code from files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tritonwin

PACKAGE = Path(tritonwin.__file__).parent

# Modules that start programs, each by an absolute path; all others ask system/process.py to.
STARTERS = {
    "build/job.py": "a build, whose output is followed",
    "build/session.py": "starts the leader of a build, which ends it when tritonwin was killed",
    "cli/run.py": "the user's own program, in the user's console",
    "system/process.py": "with limits of time and output",
}
# Carried into a target, where nothing of tritonwin can be imported.
CARRIED = ("patch/payload/", "verify/rungs/")


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """File, name and node of every call in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func), node


ALL_CALLS = list(calls())


def test_no_shell_is_asked_to_run_anything() -> None:
    shells = {"os.system", "os.popen", "os.startfile", "subprocess.getoutput"}
    # the address of the local page, for the user's browser
    page = [("front/door.py", "os.startfile")]
    assert [(file, name) for file, name, _ in ALL_CALLS if name in shells] == page
    with_shell = [
        file
        for file, _, call in ALL_CALLS
        for keyword in call.keywords
        if keyword.arg == "shell" and ast.unparse(keyword.value) != "False"
    ]
    assert with_shell == []


def test_programs_are_started_in_known_places_only() -> None:
    starts = {
        "os.execvp",
        "os.execl",
        "subprocess.run",
        "subprocess.Popen",
        "subprocess.check_output",
        "os.execv",
    }
    found = {f for f, name, _ in ALL_CALLS if name in starts and not f.startswith(CARRIED)}
    assert found == set(STARTERS)


def test_nothing_that_was_read_is_run_as_code() -> None:
    """The hook reads what it compiled itself, which is as trusted as the .pyc beside it.

    The driver's launcher compiles text that it makes of a kernel's signature.
    """
    runs = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads"}
    found = {f for f, name, _ in ALL_CALLS if name in runs}
    assert found <= {"patch/hook/runtime.py", "driver/payload/launch.py"}


@pytest.mark.parametrize("word", ["runas", "ShellExecute", "CERT_NONE", "_create_unverified"])
def test_no_source_has_the_word(word: str) -> None:
    assert [p for p in PACKAGE.rglob("*.py") if word in p.read_text("utf-8")] == []


# Each fault that an attack on the product found, and the test that fails where it comes back.
ATTACKS = """
D1 undo takes others' edits and files: test_journal_safety::test_an_edit_of_others_is_named_and_kept
D1 files beside them: test_journal_safety::test_a_file_of_others_in_a_new_package_stays
D2 a target is its spelling: test_journal_safety::test_a_target_is_what_it_is_to_the_file_system
D2 for patch: test_patch_disk::test_a_triton_that_was_patched_through_a_link_is_the_same
D3 the clock is the order: test_journal_safety::test_the_order_is_not_the_clocks
D4 lost steps count as none: test_journal::test_a_damaged_log_is_not_guessed_at
D5 cache clear takes any folder: test_remedies::test_a_cache_is_cleared_of_what_has_the_form_of_an_entry
D6 one damaged journal blocks all: test_journal::test_a_header_that_cannot_be_read_blocks_no_other
D6 no way out: test_undo_cli::test_a_damaged_journal_is_listed_with_the_way_out
D7 a RECORD leads elsewhere: test_remedies::test_a_record_that_leads_elsewhere_is_refused_in_the_plan
C1 pages offer local files: test_links::test_what_a_page_may_offer
C1 by their base: test_links::test_a_base_does_not_make_a_page_a_local_one
C1 malformed hashes: test_links::test_a_malformed_hash_is_an_error_of_that_link
C2 programs of the current folder: test_choose_target::test_a_python_of_the_current_folder_is_not_started
L1-L7 secrets and names in common logs: test_redact_forms::test_text
L1-L4 in every form and writing: test_redact_forms::test_no_secret_survives_in_a_sample
L5-L7 in every writing: test_redact_forms::test_no_name_survives_in_any_writing
W1 stderr that takes nothing: test_patch_hook::test_an_error_stream_that_takes_nothing_breaks_no_import
W2 a damaged hook: test_patch_hook::test_a_damaged_hook_breaks_no_start_and_says_one_line_at_most
W3 live Markdown: test_doctor_reports::test_nothing_of_the_machine_is_live_in_an_issue
W4 a server of a byte a second: test_download::test_a_slow_server_is_given_up_by_the_clock
W5 endless METADATA: test_wheel_lies::test_a_lie_inside
W6 endless sources: test_patch_session::test_a_source_without_end_is_not_read
W7 a drive that does not answer: test_waiting::test_a_drive_that_does_not_answer_is_given_up_and_named
W7 Ctrl-C meanwhile: test_waiting::test_ctrl_c_while_a_drive_does_not_answer
W8 cut before escaping: test_doctor_reports::test_an_issue_is_never_too_long_and_keeps_the_end_of_its_log
W9 another package inside: test_wheel_lies::test_a_lie_inside
W11 pip writes on when tritonwin is killed: test_target_pip::test_pip_ends_with_a_tritonwin_that_is_killed
W12 head hides the status: test_cli::test_a_reader_that_leaves_early_is_no_error_and_changes_no_status
2 a dependency by an address: test_install_cli::test_a_wheel_that_asks_for_a_package_by_address
2 a share named by a RECORD: test_placing::test_a_record_that_names_a_share_asks_no_other_machine
2 names of a share, or that Windows reads as others, launchers with a folder: test_wheel_lies::test_a_lie_inside
2 settings of pip: test_placing::test_a_wheel_that_would_replace_a_file_of_python_is_refused_in_the_plan
2 libraries beside Python: test_placing::test_a_library_beside_python_that_no_package_brought_stays
2 logins in plans: test_install_cli::test_a_login_is_used_and_is_neither_shown_nor_kept
2 a patch through a link: test_patch_disk::test_a_link_into_a_package_cache_is_replaced
2 pip reads something else: test_guard::test_settings_are_left_where_pip_would_read_something_else
2 tables of variables: test_redact_forms::test_no_secret_survives_in_a_sample
2 the square of the files: test_journal_safety::test_an_undo_is_planned_in_proportion_to_the_files
2 two undo at once: test_journal_safety::test_another_tritonwin_came_first
2 deep JSON in the journal: test_journal::test_a_file_that_was_replaced_is_a_damaged_one
2 folders like Visual Studio's: test_msvc::test_folders_right_below_a_drive
2 percent signs after call: test_shells::test_a_batch_file_gets_whole_words
3 pipes in the journal: test_journal::test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting
3 a pipe as a lock: test_journal::test_a_pipe_in_the_place_of_a_lock
3 lists without end: test_worst_cases::test_a_list_is_read_to_a_bound
3 long lines of batch files: test_launch::test_what_cmd_would_not_read_is_refused
3 transports of git: test_build_cli::test_what_git_would_take_for_more_than_an_address
3 links in a build folder: test_build_source::test_a_link_in_the_build_folder_has_nothing_of_others_changed
3 a pipe as a wheel: test_build_source::test_a_pipe_is_no_wheel
3 passwords by their place: test_redact::test_text
""".strip().splitlines()


@pytest.mark.parametrize("line", ATTACKS)
def test_each_attack_has_a_test(line: str) -> None:
    file, _, name = line.rpartition(": ")[2].partition("::")
    assert f"\ndef {name}(" in Path(__file__).with_name(f"{file}.py").read_text("utf-8")
