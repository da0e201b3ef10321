# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a journal. Its keys are what makes it impossible to count anything twice."""

from __future__ import annotations

# Read by file(1) and by us: a database of another program is not taken for a journal.
APPLICATION = 0x6C736D31
VERSION = 1

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
  number INTEGER PRIMARY KEY, subject TEXT NOT NULL, point TEXT NOT NULL, fidelity TEXT NOT NULL,
  variant TEXT REFERENCES variants, moves TEXT NOT NULL, cost REAL, spread REAL NOT NULL,
  failure TEXT, seconds REAL NOT NULL, UNIQUE (subject, fidelity), CHECK ((cost IS NULL) != (failure IS NULL))
) STRICT;

-- `ordinal` counts the blocks of a variant in a stage; `number` is that of the samples, unique in the run.
CREATE TABLE blocks (
  number INTEGER PRIMARY KEY, fidelity TEXT NOT NULL, purpose TEXT NOT NULL,
  variant TEXT NOT NULL REFERENCES variants, ordinal INTEGER NOT NULL, seconds REAL NOT NULL, failure TEXT,
  UNIQUE (fidelity, purpose, variant, ordinal)
) STRICT;

CREATE TABLE samples (
  block INTEGER NOT NULL REFERENCES blocks, boot INTEGER NOT NULL, position INTEGER NOT NULL,
  benchmark TEXT NOT NULL, metric TEXT NOT NULL, threads INTEGER NOT NULL, variant TEXT NOT NULL REFERENCES variants,
  value REAL NOT NULL, UNIQUE (block, boot, position, benchmark, metric, threads)
) STRICT;

-- What has been begun and not ended: the tasks that a killed process leaves behind.
CREATE TABLE begun (task TEXT PRIMARY KEY, since REAL NOT NULL) STRICT;

-- What the machines said of themselves, and what a reader of the result must know.
CREATE TABLE facts (name TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (name, value)) STRICT;
CREATE TABLE remarks (number INTEGER PRIMARY KEY, sentence TEXT NOT NULL UNIQUE) STRICT;
"""
