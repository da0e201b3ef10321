# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches in all the forms in which people have them, on the way into two versions of a tree."""

from __future__ import annotations

import base64
import gzip
import quopri
import subprocess
from collections.abc import Callable
from contextlib import suppress
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_commits import Commits, repository
from patch_cases import write_files

from linesmith.analyzer.base.errors import PatchRefused
from linesmith.patches.revisions.mails import mails_of, patched

HEADER = "struct cache {\n\tlong uses;\n\tlong hits;\n};\n"
STEPS = (
    HEADER,
    HEADER.replace("hits;", "hits, misses;"),
    HEADER.replace("hits;", "hits, misses, evicted;"),
    HEADER.replace("hits;", "hits, misses, evicted, kept;"),
)
MIME = b"\nMIME-Version: 1.0\nContent-Transfer-Encoding: "


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Commits:
    """A repository with a commit for each step, the last one checked out nowhere."""
    found = repository(tmp_path_factory.mktemp("series") / "made")
    last = ""
    for step in STEPS:
        last = found.commit({"mm/cache.h": step}, last)
    found.git("update-ref", "refs/heads/topic", last)
    return found


def printed(made: Commits, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=made.root, capture_output=True, check=True).stdout


def series(made: Commits, *options: str) -> bytes:
    return printed(made, "format-patch", "--stdout", *options, "topic~3..topic")


def tree(folder: Path, text: str = HEADER) -> Path:
    return write_files(folder / "tree", {"mm/cache.h": text})


def judged(root: Path, *files: bytes) -> tuple[bytes | None, bytes | None]:
    mails = [mail for number, text in enumerate(files) for mail in mails_of(f"{number}.patch", text)]
    found = patched(root, mails)
    return found.before["mm/cache.h"], found.after["mm/cache.h"]


WHOLE = (STEPS[0].encode(), STEPS[3].encode())


def test_a_cover_letter_changes_nothing_and_series_in_a_mailbox_follow_each_other(
    tmp_path: Path, made: Commits
) -> None:
    letters = series(made, "--cover-letter")
    assert letters.count(b"\nSubject: ") == 4
    assert judged(tree(tmp_path), letters) == WHOLE
    root = write_files(tmp_path / "tree", {"mm/cache.h": HEADER, "mm/other.h": HEADER})
    mails = mails_of("box", letters + series(made).replace(b"cache.h", b"other.h"))
    assert patched(root, mails).after == {"mm/cache.h": WHOLE[1], "mm/other.h": WHOLE[1]}


@pytest.mark.parametrize(
    "separator", [b"From mboxrd@z Thu Jan  1 00:00:00 1970", b"From me@here Tue Nov 17 09:00:01 2026"]
)
def test_mailboxes_of_archives_and_readers_are_parted_too(tmp_path: Path, made: Commits, separator: bytes) -> None:
    mails = b"\n".join(
        separator if line.startswith(b"From ") and line.endswith(b" 2001") else line
        for line in series(made, "--cover-letter").split(b"\n")
    )
    assert len(mails_of("box", mails)) == 4
    assert judged(tree(tmp_path), mails) == WHOLE


def with_line_ends_of_mail(text: bytes) -> bytes:
    return text.replace(b"\n", b"\r\n")


def quoted(text: bytes) -> bytes:
    head, _, body = text.partition(b"\n\n")
    return head + MIME + b"quoted-printable\n\n" + quopri.encodestring(body)


def encoded(text: bytes) -> bytes:
    head, _, body = text.partition(b"\n\n")
    return head + MIME + b"base64\n\n" + base64.encodebytes(with_line_ends_of_mail(body))


def attached(*patches: bytes, text: str = "See below.\n", kind: str = "text/x-patch") -> bytes:
    """A mail as programs write it, with these files."""
    mail = EmailMessage()
    mail["Subject"] = "[PATCH 1/3] caches"
    mail.set_content(text)
    for number, patch in enumerate(patches):
        main, _, sub = kind.partition("/")
        mail.add_attachment(patch, maintype=main, subtype=sub, filename=f"{number}.patch")
    return mail.as_bytes()


def as_text(patch: bytes) -> bytes:
    """A mail that shows the patch twice, the second time for browsers."""
    mail = EmailMessage()
    mail.set_content(patch.decode(), cte="quoted-printable")
    mail.add_alternative(f"<pre>{patch.decode()}</pre>", subtype="html")
    return mail.as_bytes()


def forwarded(patch: bytes) -> bytes:
    mail = EmailMessage()
    mail.set_content("What do you think?\n")
    mail.add_attachment(message_from_bytes(patch, policy=default))
    return mail.as_bytes()


@pytest.mark.parametrize(
    "sent",
    [
        with_line_ends_of_mail,
        quoted,
        encoded,
        attached,
        partial(attached, kind="application/octet-stream"),
        lambda patch: attached(patch, text=patch.decode()),  # one that is attached counts, whatever the text shows
        as_text,
        forwarded,
        lambda patch: forwarded(encoded(patch)),
        lambda patch: with_line_ends_of_mail(attached(patch)),
        lambda patch: b"From me@here Tue Nov 17 09:00:01 2026\n" + attached(patch),
    ],
)
def test_a_mail_is_the_patch_in_it(tmp_path: Path, made: Commits, sent: Callable[[bytes], bytes]) -> None:
    patch = printed(made, "format-patch", "--stdout", "-1", "topic~2")
    assert judged(tree(tmp_path), sent(patch)) == (STEPS[0].encode(), STEPS[1].encode())


@pytest.mark.parametrize("option", ["--attach", "--inline"])
def test_what_git_attaches_is_read(tmp_path: Path, made: Commits, option: str) -> None:
    assert judged(tree(tmp_path), series(made, option)) == WHOLE


def test_attached_patches_are_a_series_and_a_mailbox_may_hold_mails_with_parts(tmp_path: Path, made: Commits) -> None:
    parts = [mail.text for mail in mails_of("series", series(made))]
    assert [mail.name for mail in mails_of("mail", attached(*parts))] == ["mail[1]", "mail[2]", "mail[3]"]
    assert judged(tree(tmp_path), attached(*parts)) == WHOLE
    line = b"From me@here Tue Nov 17 09:00:01 2026\n"
    box = line + attached(parts[0]) + b"\n" + line + attached(parts[1]) + b"\n" + parts[2]
    assert len(mails_of("box", box)) == 3
    assert judged(tree(tmp_path), box) == WHOLE


@settings(max_examples=40)
@given(st.lists(st.sampled_from([
    b"From me@here Tue Nov 17 09:00:01 2026\n", b"Content-Type: multipart/mixed; boundary=b\n", b"--b\n", b"--b--\n",
    b"Content-Type: message/rfc822\n", b"Content-Transfer-Encoding: base64\n", b"--- a/a\n+++ b/a\n", b"LS0t\n",
    b'Content-Type: multipart/x; boundary="c;\n', b"\xff: \xfe\n", b"\r\n", b"\n",
]), max_size=30))  # fmt: skip
def test_any_mail_is_read_or_refused(lines: list[bytes]) -> None:
    with suppress(PatchRefused):
        mails_of("mail", b"".join(lines))


@pytest.mark.parametrize("value", ["undefined''B", "idna''%ff", "utf-8\0''B", "utf-8''%ff"])
def test_a_parameter_in_no_known_encoding_is_none(value: str) -> None:
    part = f"--B\nContent-Type: text/plain; name*={value}\n\n--- a/a\n+++ b/a\n--B--\n"
    for boundary in ("boundary=B", f"boundary*={value}"):
        (mail,) = mails_of("mail", f"Content-Type: multipart/mixed; {boundary}\n\n{part}".encode())
        assert b"--- a/a" in mail.text


def test_a_mailbox_of_all_mails_of_a_list_is_refused() -> None:
    with pytest.raises(PatchRefused, match="box has more than 10,000 mails; give only those of the series"):
        mails_of("box", b"From me@here Tue Nov 17 09:00:01 2026\n\n" * 10_001)


def test_line_ends_that_are_the_trees_own_stay(tmp_path: Path) -> None:
    """Git's own lines of such a patch end as lines of git do."""
    root = tree(tmp_path)
    (root / "mm/cache.h").write_bytes(b"int a;\r\n")
    patch = b"--- a/mm/cache.h\n+++ b/mm/cache.h\n@@ -1 +1 @@\n-int a;\r\n+int b;\r\n"
    assert judged(root, patch) == (b"int a;\r\n", b"int b;\r\n")


@pytest.mark.parametrize(
    "prefixes",
    [("--no-prefix",), ("--src-prefix=linux.orig/", "--dst-prefix=linux/"), ("--src-prefix=i/", "--dst-prefix=w/")],
)
def test_names_in_a_patch_have_any_first_part_or_none(tmp_path: Path, made: Commits, prefixes: tuple[str, ...]) -> None:
    patch = printed(made, "diff", *prefixes, "topic~3", "topic")
    assert judged(tree(tmp_path), patch) == WHOLE
    plain = b"\n".join(line for line in patch.split(b"\n") if not line.startswith((b"diff", b"index")))
    assert judged(tree(tmp_path / "other"), plain) == WHOLE


@pytest.mark.parametrize("had", [0, 3])
def test_the_tree_may_have_a_series_already(tmp_path: Path, made: Commits, had: int) -> None:
    found = patched(tree(tmp_path, STEPS[had]), mails_of("series", series(made, "--cover-letter")))
    assert (found.before["mm/cache.h"], found.after["mm/cache.h"]) == WHOLE


def test_a_picture_of_which_the_patch_has_no_bytes_is_left_out(tmp_path: Path, made: Commits) -> None:
    picture = b"diff --git a/l.gif b/l.gif\nindex 1234567..89abcde 100644\nBinary files a/l.gif and b/l.gif differ\n"
    assert judged(tree(tmp_path), picture + printed(made, "diff", "topic~3", "topic")) == WHOLE


@pytest.mark.parametrize("numbers", [(1,), (0, 2), (0, 0), (2, 0, 1)])
def test_parts_of_a_series_that_do_not_apply(tmp_path: Path, made: Commits, numbers: tuple[int, ...]) -> None:
    parts, root = [mail.text for mail in mails_of("series", series(made))], tree(tmp_path)
    step = "give all parts of the series" if len(numbers) > 1 else "name the tree it is for"
    with pytest.raises(PatchRefused, match=f"neither forwards nor backwards: .*; {step}"):
        patched(root, [mail for number in numbers for mail in mails_of(f"{number + 1}.patch", parts[number])])


def test_a_log_is_taken_with_the_oldest_commit_first(tmp_path: Path, made: Commits) -> None:
    root = tree(tmp_path)
    with pytest.raises(PatchRefused, match="neither forwards nor backwards"):
        judged(root, printed(made, "log", "-p", "topic~3..topic"))
    assert judged(root, printed(made, "log", "-p", "--reverse", "topic~3..topic")) == WHOLE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "0.patch is empty"),
        (b"> --- a/a.h\n> +++ b/a.h\n", "0.patch is no patch of files"),
        (gzip.compress(b"--- a/a.h\n", mtime=0), "0.patch is compressed"),
        (b"From: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n", "0.patch is a mail of several parts"),
        ("--- a/a.h\n".encode("utf-16"), "0.patch is UTF-16"),
        (b"From: x\nContent-Transfer-Encoding: base64\n\nLS0tI\n", "0.patch is encoded for mail, and damaged"),
    ],
)
def test_what_is_no_patch_is_named_for_what_it_is(tmp_path: Path, text: bytes, said: str) -> None:
    with pytest.raises(PatchRefused, match=said):
        judged(tree(tmp_path), text)


@pytest.mark.parametrize(
    ("old", "new", "lines_of"),
    [("a/lib", "b/lib", "-1 +1"), ("/dev/null", "b/lib", "-0,0 +1"), ("a/lib", "/dev/null", "-1 +0,0")],
)
def test_another_commit_of_a_submodule_is_told(tmp_path: Path, old: str, new: str, lines_of: str) -> None:
    lines = [f"{sign}Subproject commit {sign_of * 40}" for sign, sign_of in (("-", "1"), ("+", "2"))]
    kept = [line for line, side in zip(lines, (old, new), strict=True) if side != "/dev/null"]
    patch = "\n".join(("diff --git a/lib b/lib", f"--- {old}", f"+++ {new}", f"@@ {lines_of} @@", *kept, ""))
    found = patched(tree(tmp_path), mails_of("0.patch", patch.encode()))
    assert found.changes == ()
    assert found.remarks == ("1 submodule (lib) not followed: --base-ref judges what another commit of one changes",)


def test_a_patch_that_was_cut_off_is_damaged(tmp_path: Path, made: Commits) -> None:
    patch = printed(made, "diff", "topic~3", "topic")
    with pytest.raises(PatchRefused, match=r"0\.patch is damaged, corrupt patch at line \d+; give the file"):
        judged(tree(tmp_path), patch[: patch.index(b"+\tlong") + 8])
