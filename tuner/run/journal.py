# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal of a run: an SQLite database in which whatever is finished is on disk before anything builds on it.

Each transaction is synced (``synchronous=EXTRA``), so a process may be killed and the power may fail at any moment.
No write-ahead log is used: a run directory that is shared by machines may lie on a network file system. The keys of the
tables are what makes it impossible to count anything twice. Values of the model are kept as JSON.

``keep_*`` functions write within a transaction, the others read. All samples of a block are there, or none. Trials that
are given to a new search in their order bring it to where the last one was.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import DiskFull, JournalError, PlanError
from linesmith.analyzer.model import Build, Built, Comparison, Failure, Fidelity, Sample, Trial, Variant
from linesmith.tuner.judge.ranking import cost

# Read by file(1) and by us: a database of another program is not taken for a journal.
APPLICATION = 0x6C736D31
VERSION = 2

TABLES = """
-- Single values: the plan's folder, whether the run is finished, and what came out of it.
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- Each time a process worked on the run: wall clock of its begin and of its last word (seconds since 1970).
CREATE TABLE sessions (number INTEGER PRIMARY KEY, begun REAL NOT NULL, heard REAL NOT NULL) STRICT;

-- `digest` is that of the patches and the salt: points that make the same source share a variant.
CREATE TABLE variants (
  name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, salt INTEGER NOT NULL, patches TEXT NOT NULL, moves TEXT NOT NULL
) STRICT;

CREATE TABLE builds (
  variant TEXT PRIMARY KEY REFERENCES variants, built TEXT, failure TEXT, CHECK ((built IS NULL) != (failure IS NULL))
) STRICT;

-- In the order in which the search was told of them; a point, or a given patch, is judged once on each rung.
CREATE TABLE trials (
  number INTEGER PRIMARY KEY, subject TEXT NOT NULL, fidelity TEXT NOT NULL, trial TEXT NOT NULL,
  UNIQUE (subject, fidelity)
) STRICT;

-- `ordinal` counts the blocks of a variant in a stage; `number` is that of the samples, unique in the run.
CREATE TABLE blocks (
  number INTEGER PRIMARY KEY, fidelity TEXT NOT NULL, purpose TEXT NOT NULL,
  variant TEXT NOT NULL REFERENCES variants, ordinal INTEGER NOT NULL, block TEXT NOT NULL,
  UNIQUE (fidelity, purpose, variant, ordinal)
) STRICT;

-- What the machines said of themselves, and what a reader of the result must know.
CREATE TABLE facts (name TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (name, value)) STRICT;
CREATE TABLE remarks (number INTEGER PRIMARY KEY, sentence TEXT NOT NULL UNIQUE) STRICT;
"""

# A report that reads the journal of a run in progress holds it up for some milliseconds.
_WAIT_SECONDS = 60

Value = str | int | float | None
Row = tuple[Value, ...]
BASELINE = Variant("baseline")
PLACEBO = "placebo"
JOURNAL = "journal.sqlite"


def unfinished(name: str) -> tuple[str, str]:
    """What a process that is killed in ``Journal.create`` may leave of the journal called ``name``."""
    return f"{name}.part", f"{name}.part-journal"


class Journal:
    """An open journal."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self._database = database
        self._session = 0

    @classmethod
    def create(cls, path: Path, folder: Path) -> Journal:
        """A new journal at ``path``, there whole or not at all; ``folder`` is where the plan's paths go out from."""
        part, rollback = (path.with_name(name) for name in unfinished(path.name))
        # SQLite would take what a killed process left of its transaction for a part of this one's.
        rollback.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
        with _explaining(path):
            database = sqlite3.connect(part, isolation_level=None)
            database.executescript(
                f"PRAGMA synchronous = EXTRA; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; "
                f"BEGIN; {TABLES}; COMMIT"
            )
            database.execute("INSERT INTO notes VALUES ('folder', ?)", (str(folder),))
            database.close()
            part.replace(path)
            files.sync(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """The journal at ``path``, to be gone on with; raises ``JournalError`` when it is damaged or not ours."""
        journal = cls.read(path)
        journal.check()
        with _explaining(path):
            journal._database.execute("PRAGMA query_only = 0")
        journal._begin_session()
        return journal

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal at ``path``, only to be read, also while another process writes it; raises ``JournalError``."""
        with _explaining(path):
            address = f"{path.absolute().as_uri()}?mode=rw"
            database = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_WAIT_SECONDS)
            database.executescript(
                "PRAGMA foreign_keys = 1; PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; "
                "PRAGMA query_only = 1"
            )
            journal = cls(path, database)
            journal._refuse_foreign()
            return journal

    def check(self) -> None:
        """Read every page; raises ``JournalError`` with the first thing that is wrong."""
        (found,) = self.rows("PRAGMA integrity_check(1)")[0]
        strange = self.rows("PRAGMA foreign_key_check")
        if found != "ok" or strange:
            what = found if found != "ok" else f"a row of {strange[0][0]} belongs to nothing"
            raise JournalError(f"{self.path} is damaged ({what}); restore it from a copy, or start another run")

    def rows(self, query: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows that answer a query."""
        with _explaining(self.path):
            return self._database.execute(query, values).fetchall()

    def write(self, statement: str, values: Sequence[Value] = ()) -> None:
        """One statement of the transaction that is open."""
        with _explaining(self.path):
            self._database.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written in the block is kept, or nothing of it; at its end it is on disk."""
        self.write("BEGIN IMMEDIATE")
        try:
            yield
            self.write("UPDATE sessions SET heard = max(heard, ?) WHERE number = ?", (time.time(), self._session))
            self.write("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.rollback()
            raise

    @property
    def folder(self) -> Path:
        """The folder from which the paths in the plan go out."""
        return Path(self.note("folder") or "/")

    def note(self, name: str) -> str | None:
        """A value kept by its name."""
        found = self.rows("SELECT value FROM notes WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def keep_note(self, name: str, value: str) -> None:
        """Within a transaction: keep a value, in the place of an older one."""
        self.write("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    @property
    def seconds(self) -> float:
        """Wall time that all processes together have spent on the run."""
        ((spent,),) = self.rows("SELECT coalesce(sum(heard - begun), 0.0) FROM sessions")
        return float(spent or 0.0)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def keep_block(self, block: MeasuredBlock) -> None:
        """Within a transaction: keep a block with its samples; a second one in its place cannot be kept."""
        place = (block.number, block.stage.fidelity, block.stage.purpose, block.variant, block.ordinal)
        self.write("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?)", (*place, encoded(block)))

    def blocks(self) -> tuple[MeasuredBlock, ...]:
        """All blocks in the order of their numbers."""
        rows = self.rows("SELECT block FROM blocks ORDER BY number")
        return tuple(decoded(block, MeasuredBlock) for (block,) in rows)

    def keep_build(self, variant: str, outcome: Built | Failure) -> None:
        """Within a transaction: note what building the variant came to."""
        text = encoded(outcome)
        values = (variant, text, None) if isinstance(outcome, Built) else (variant, None, text)
        self.write("INSERT OR REPLACE INTO builds (variant, built, failure) VALUES (?, ?, ?)", values)

    def build_of(self, variant: str) -> Built | Failure | None:
        """What building the variant came to; ``None`` when it was not built, or its products are gone."""
        rows = self.rows("SELECT built, failure FROM builds WHERE variant = ?", (variant,))
        if not rows:
            return None
        built, failure = rows[0]
        if built is None:
            return decoded(failure, Failure)
        found = decoded(built, Built)
        return found if all(path.exists() for _, path in found.products) else None

    def builds(self) -> tuple[Build, ...]:
        """All builds that succeeded, in the order of their variants."""
        rows = self.rows("SELECT variant, built FROM builds WHERE built NOT NULL ORDER BY rowid")
        found = ((str(variant), decoded(built, Built)) for variant, built in rows)
        return tuple(Build(name, one.key, one.seconds, one.compiler, one.configuration) for name, one in found)

    def keep_trial(self, trial: Trial) -> None:
        """Within a transaction: number a trial and keep it; a second one of its point on its rung cannot be kept."""
        ((last,),) = self.rows("SELECT coalesce(max(number), 0) FROM trials")
        numbered = replace(trial, number=int(last or 0) + 1)
        subject = encoded(trial.point) if trial.point else trial.variant
        row = (numbered.number, subject, trial.fidelity, encoded(numbered))
        self.write("INSERT INTO trials VALUES (?, ?, ?, ?)", row)

    def trials(self) -> tuple[Trial, ...]:
        """All finished trials in the order in which they were given."""
        return tuple(decoded(trial, Trial) for (trial,) in self.rows("SELECT trial FROM trials ORDER BY number"))

    def keep_variant(self, variant: Variant, moves: Sequence[str] = ()) -> Variant:
        """Within a transaction: the variant with the same source that is there already, else this one, now there.

        Raises ``PlanError`` when another source has its name.
        """
        # JSON has no lone surrogates, which stand for bytes that are no UTF-8: each byte is kept as a character.
        patches = tuple(one.encode("utf-8", "surrogateescape").decode("latin-1") for one in variant.patches)
        digest = sha256(encoded((patches, variant.salt)).encode()).hexdigest()
        known = self.rows("SELECT name, patches, salt FROM variants WHERE digest = ?", (digest,))
        if known:
            return _variant(known[0])
        if self.rows("SELECT 1 FROM variants WHERE name = ?", (variant.name,)):
            raise PlanError(f"the run has another variant named {variant.name}; rename the patch, or start another run")
        values = (variant.name, digest, variant.salt, encoded(patches), encoded(tuple(moves)))
        self.write("INSERT INTO variants (name, digest, salt, patches, moves) VALUES (?, ?, ?, ?, ?)", values)
        return variant

    def variants(self) -> tuple[Variant, ...]:
        """All variants in the order in which they were first met."""
        return tuple(_variant(row) for row in self.rows("SELECT name, patches, salt FROM variants ORDER BY rowid"))

    def moves(self) -> dict[str, tuple[str, ...]]:
        """What makes each variant, in words."""
        rows = self.rows("SELECT name, moves FROM variants")
        return {str(name): decoded(moves, tuple[str, ...]) for name, moves in rows}

    def efforts(self) -> dict[str, int]:
        """How many moves each variant makes, by its name."""
        return {name: len(moves) for name, moves in self.moves().items()}

    def _begin_session(self) -> None:
        now = time.time()
        with self.transaction():
            self.write("INSERT INTO sessions (begun, heard) VALUES (?, ?)", (now, now))
            ((number,),) = self.rows("SELECT last_insert_rowid()")
            self._session = int(number or 0)

    def _refuse_foreign(self) -> None:
        ((application,),), ((version,),) = self.rows("PRAGMA application_id"), self.rows("PRAGMA user_version")
        if application != APPLICATION:
            raise JournalError(f"{self.path} is not a journal of linesmith; name another run directory")
        if version != VERSION:
            raise JournalError(
                f"{self.path} is of version {version}, but this linesmith reads version {VERSION}; use the other"
            )


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """What SQLite raises, as a sentence. See https://sqlite.org/rescode.html."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
            message = f"no space left to write {path} ({error}); free some and continue with --resume: nothing is lost"
            raise DiskFull(message) from error
        message = f"{path} cannot be used as a journal ({error}); restore it from a copy, or start another run"
        raise JournalError(message) from error


T = TypeVar("T")


def encoded(value: object) -> str:
    """The value as JSON; paths become their text."""
    return msgspec.json.encode(value, enc_hook=_path_text).decode()


def _path_text(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"a {type(value).__name__} cannot be stored in a journal")


def decoded(text: object, kind: type[T]) -> T:
    """The value of this kind that ``encoded`` made the text of; raises ``JournalError``."""
    try:
        return msgspec.json.decode(str(text).encode(), type=kind, dec_hook=_path_of)
    except msgspec.MsgspecError as error:
        raise JournalError(
            f"the journal has no {kind.__name__} where one should be ({error}); start another run"
        ) from error


def _path_of(kind: type, value: object) -> Path:
    if issubclass(kind, Path) and isinstance(value, str):
        return Path(value)
    raise NotImplementedError


class Purpose(StrEnum):
    """What blocks are measured for; samples of one purpose never serve another."""

    NOISE = "noise"
    SEARCH = "search"
    CONFIRMATION = "confirmation"


@dataclass(frozen=True, slots=True)
class BlockStage:
    """Blocks that belong together: how they were measured (simulated or on a machine), and for what."""

    fidelity: Fidelity
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """A block of a variant next to the baseline; it has samples or the variant's failure.

    ``number`` is unique in the run, ``ordinal`` counts from 0 the blocks of this variant in this stage.
    """

    number: int
    stage: BlockStage
    variant: str
    ordinal: int
    seconds: float
    samples: tuple[Sample, ...] = ()
    failure: Failure | None = None


def read_build(path: Path, variant: str) -> Built | None:
    """What the run in the directory ``path`` built of a variant; ``None`` where it failed or its products are gone.

    Raises ``JournalError``.
    """
    with closing(Journal.read(journal_of(path))) as journal:
        found = journal.build_of(variant)
    return found if isinstance(found, Built) else None


def trial_of(trial: Trial, outcome: Sequence[Comparison] | Failure) -> Trial:
    """The trial with what the judge says of its variant, as a ratio to the baseline, or with its failure."""
    if isinstance(outcome, Failure):
        return replace(trial, failure=outcome)
    found, spread = cost(outcome)
    return replace(trial, cost=found, spread=spread)


def _variant(row: Row) -> Variant:
    name, kept, salt = row
    patches = (one.encode("latin-1").decode("utf-8", "surrogateescape") for one in decoded(kept, tuple[str, ...]))
    return Variant(str(name), tuple(patches), int(salt or 0))


def journal_of(path: Path) -> Path:
    """The journal in the run directory at ``path``; raises ``JournalError`` when that is no run directory."""
    found = path / JOURNAL
    if not found.is_file():
        raise JournalError(f"{path} is not a run directory (it has no {JOURNAL}); name a run directory")
    return found
