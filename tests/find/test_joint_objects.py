# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of one profile help each other: an object that is sure on one tells what lies on others.

Dentries of 192 bytes begin at the multiples of 192 in a slab, and slabs at the beginning of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.attribution.evidence import functions_asked
from linesmith.analyzer.attribution.joint_objects import cpus_of
from linesmith.analyzer.dwarf import operands, read_layouts, touched
from linesmith.analyzer.findings import findings
from linesmith.analyzer.model import Access, LineObject, Outcome, Profile, Sampling, SharedLine, TriageKind
from linesmith.analyzer.slab import Kernel

PAGE = 0xFFFF_8880_0001_0000
SOURCE = """
struct rw_semaphore { long count; long owner; };
struct dentry { long hash, seq; struct rw_semaphore d_sem; long name[12]; struct rw_semaphore d_late; long end[6]; };
struct mm_struct { long users; struct rw_semaphore mmap_lock; long rest[20]; };
struct file { long pos; struct rw_semaphore f_sem; long rest[20]; };
struct task_struct { void *stack; struct mm_struct *mm; } task;
struct big_mutex { long state, holder, waiters; };
struct pool { long free; struct big_mutex m; long used; };
struct bank { long open[3]; struct big_mutex m; };
struct domain { long spans, overloaded; struct rw_semaphore levels[100]; };
struct nsproxy { long count, uts, all[9], net, last; };
struct file *opened;
long get_nsproxy(struct nsproxy *n) { n->count++; return n->uts; }
long put_nsproxy(struct nsproxy *n) { n->net++; return n->last; }
long d_lookup(struct dentry *d) { d->seq = d->hash; return d->hash; }
long pull(struct domain *d) { d->overloaded = d->spans; return d->spans; }
void take(struct big_mutex *m) { m->holder = m->state; m->state = 1; }
void queue(struct big_mutex *m) { m->waiters = m->holder; }
void down_write(struct rw_semaphore *s) { s->owner = s->count; s->count = 1; }
"""
ENTRY = ((0, "d_lookup", 0), (8, "d_lookup", 50))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("kernel"), SOURCE, "-O1")


def _line(rank: int, address: int, rows: Sequence[tuple[int, str, int]]) -> SharedLine:
    """A line; rows are offset, function and stores, each with loads that met modified data."""
    accesses = tuple(Access(offset, name, hitm_local=100, stores_l1_hit=stores) for offset, name, stores in rows)
    return SharedLine(rank, address, accesses, hitm_local=100 * len(rows))


def _semaphore(offset: int) -> tuple[tuple[int, str, int], ...]:
    return (offset, "down_write", 50), (offset + 8, "down_write", 50)


def _objects(elf: Path, slabs: Kernel | None, *lines: SharedLine, wanted: str | None = None) -> list[LineObject]:
    profile = Profile("test", "", "hitm", lines)
    asked = functions_asked(profile)
    layouts = read_layouts(elf).layouts
    found = findings(profile, layouts, touched(elf, *asked), operands(elf, *asked), wanted, kernel=slabs)
    return [one.objects[0] for one in found]


def test_a_sure_object_settles_the_line_behind_that_it_reaches_onto(kernel: Path) -> None:
    sure, late = _line(0, PAGE + 192, ENTRY), _line(1, PAGE + 320, _semaphore(0))
    first, second = _objects(kernel, None, sure, late)
    assert (first.type, first.start) == ("dentry", 0)
    assert (second.type, second.start) == ("dentry", -128)
    assert second.reason == "it reaches over from a line close by, where it is sure"


def test_a_sure_object_holds_the_last_elements_of_its_array(kernel: Path) -> None:
    begin, end = PAGE + 8192, PAGE + 8192 + 1600
    sure = _line(0, begin, ((0, "pull", 0), (8, "pull", 50)))
    last = _line(1, end, _semaphore(0))
    first, second = _objects(kernel, None, sure, last)
    assert (first.type, first.start) == ("domain", 0)
    assert (second.type, second.start) == ("domain", begin - end)


def test_a_type_that_was_asked_for_lies_where_another_line_is_sure_of_it(kernel: Path) -> None:
    """Asked for by itself, the lock of the last line would be one of the first of a domain of its own."""
    begin, end = PAGE + 8192, PAGE + 8192 + 1600
    sure, last = _line(0, begin, ((0, "pull", 0), (8, "pull", 50))), _line(1, end, _semaphore(0))
    assert _objects(kernel, None, last, wanted="domain")[0].start > begin - end
    assert [one.start for one in _objects(kernel, None, sure, last, wanted="domain")] == [0, begin - end]


def test_a_sure_type_owns_the_lock_that_only_it_can_have_there(kernel: Path) -> None:
    """In another page, where no dentry is known, a semaphore lies 16 bytes into a place of dentries."""
    sure, other = _line(0, PAGE, ENTRY), _line(1, PAGE + 4096 * 8 + 576, _semaphore(16))
    assert _objects(kernel, None, sure, other)[1].type == "rw_semaphore"
    second = _objects(kernel, Kernel(), sure, other)[1]
    assert (second.type, second.start) == ("dentry", 0)
    assert second.reason == "of the types that are sure on other lines it is the only one that can begin here"


def test_where_slabs_have_no_such_object_the_lock_stays_a_lock(kernel: Path) -> None:
    """Both semaphores of a dentry would make it begin between two places."""
    sure, other = _line(0, PAGE, ENTRY), _line(1, PAGE + 4096 * 8 + 576, _semaphore(32))
    assert _objects(kernel, Kernel(), sure, other)[1].type == "rw_semaphore"


def test_a_line_with_the_end_of_one_object_and_the_start_of_the_next_has_both(kernel: Path) -> None:
    """Nsproxies of 104 bytes: the second line of a slab has 40 bytes of the first and 24 of the second."""
    both = ((24, "put_nsproxy", 50), (32, "put_nsproxy", 0), (40, "get_nsproxy", 50), (48, "get_nsproxy", 0))
    line = _line(0, PAGE + 64, both)
    profile = Profile("test", "", "hitm", (line,))
    asked = functions_asked(profile)
    layouts = read_layouts(kernel).layouts
    found = findings(profile, layouts, touched(kernel, *asked), operands(kernel, *asked), kernel=Kernel())[0]
    assert [(one.type, one.start) for one in found.objects] == [("nsproxy", -64), ("nsproxy", 40)]
    assert TriageKind.SEVERAL_OBJECTS in found.triage.kinds


def test_a_lock_that_goes_on_on_the_next_line_is_known_where_it_begins(kernel: Path) -> None:
    """Its state ends a line, its holder begins the next; of the code that spins on the state this build has nothing."""
    rows = (
        Access(56, "spin", hitm_local=300),
        Access(56, "take", hitm_local=100),
        Access(8, "d_lookup", hitm_local=50),
    )
    first = SharedLine(0, PAGE, rows, hitm_local=450)
    second = _line(1, PAGE + 64, ((0, "take", 50), (0, "queue", 0), (8, "queue", 50)))
    one, other = _objects(kernel, None, first, second)
    assert (other.type, other.start) == ("big_mutex", -8)
    assert (one.type, one.start, one.outcome) == ("big_mutex", 56, Outcome.INNER_TYPE_ONLY)
    assert one.reason == "it begins here and goes on on the line behind, where it is sure"


def test_without_a_sure_object_nothing_is_settled(kernel: Path) -> None:
    assert _objects(kernel, Kernel(), _line(0, PAGE + 576, _semaphore(16)))[0].type != "dentry"


def test_lines_without_addresses_stand_for_themselves(kernel: Path) -> None:
    nowhere = SharedLine(1, None, _line(1, 0, _semaphore(16)).accesses, hitm_local=200)
    assert _objects(kernel, Kernel(), _line(0, PAGE, ENTRY), nowhere)[1].type == "rw_semaphore"


def test_a_profile_may_know_how_many_cpus_there_were() -> None:
    profile = Profile("test", "", "hitm", ())
    assert cpus_of(profile) is None
    assert cpus_of(Profile("test", "", "hitm", (), sampling=Sampling(cpus=12))) == 12
