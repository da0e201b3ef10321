# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - the rows of a report are as long as perf prints them
"""A program with a contended queue, and what perf c2c printed of it."""

from __future__ import annotations

from pathlib import Path

from c_source import compiled

SOURCE = """
struct spin_lock { int owner; };
struct queue {
    void *items;
    unsigned long capacity;
    int version;
    unsigned char open, closing;
    struct spin_lock lock;
    unsigned long head;
    unsigned long tail;
    char name[40];
    unsigned short users;
};
struct untouched { long word; };
struct untouched untouched;
unsigned long queue_head(struct queue *queue) { return queue->head; }
void queue_put(struct queue *queue) { queue->tail++; }
void queue_lock_slowpath(struct queue *queue) { queue->lock.owner = 1; }
int queue_grow(struct queue *queue) { return queue->capacity != 0; }
struct idle { long word; } idle;
"""

REPORT = """\
  ----------------------------------------------------------------------
     0      40      160       0      30        0      0x7f2200
  ----------------------------------------------------------------------
    10.00%   10.00%    0.00%    0.00%    0.00%     0x08    0    1   0x401130    90   80   70    40    4  [.] queue_grow           program  program.c:17   0
    20.00%   20.00%    0.00%    0.00%    0.00%     0x18    0    1   0x401150    90   80   70    44    4  [.] queue_lock_slowpath  program  program.c:16   0
    70.00%   70.00%    0.00%    0.00%    0.00%     0x20    0    1   0x401170    90   80   70    90    8  [.] queue_head           program  program.c:14   0 1
     0.00%    0.00%    0.00%  100.00%    0.00%     0x28    0    1   0x401190    90   80   70    120   2  [.] queue_put            program  program.c:15   1
"""


def program(folder: Path) -> Path:
    """The program, compiled."""
    return compiled(folder, SOURCE, "-O1", name="program")


def report(folder: Path) -> Path:
    """The report as a file."""
    path = folder / "report.txt"
    path.write_text(REPORT)
    return path
