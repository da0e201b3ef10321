# SPDX-License-Identifier: GPL-2.0-or-later
"""Work of which Python does as much as its children: each piece in a process of its own, on all CPUs that are ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from linesmith.analyzer.base.errors import VerificationFailed
from linesmith.analyzer.base.keeper import die_with

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _PieceResult(Generic[_Result]):
    """What became of an item: ``results`` is one, or none where there was an ``error``."""

    results: tuple[_Result, ...] = ()
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _RunningPiece:
    """The item of this number at work."""

    number: int
    pipe: Connection
    process: BaseProcess


def each_apart(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """``function`` of each item, in their order; what it gives or raises must be such as can be pickled.

    Raises what the first item raised of those that did, and then ends the others. A process that is forked has one
    thread: none of ours may run yet.
    """
    waiting = iter(enumerate(items))
    running: list[_RunningPiece] = []
    ended: dict[int, _PieceResult[_Result]] = {}
    try:
        while len(ended) < len(items):
            free = len(os.sched_getaffinity(0)) - len(running)
            for number, item in islice(waiting, free):
                running.append(_begun(function, number, item))
            ready = wait([one.pipe for one in running])
            for one in [one for one in running if one.pipe in ready]:
                ended[one.number] = _outcome(one)
                running.remove(one)
            _raise_first(ended)
        return [result for number in range(len(items)) for result in ended[number].results]
    finally:
        for one in running:
            one.process.terminate()
        for one in running:
            one.process.join()


def _begun(function: Callable[[_Item], _Result], number: int, item: _Item) -> _RunningPiece:
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(function, item, theirs, os.getpid()))
    process.start()
    theirs.close()
    return _RunningPiece(number, ours, process)


def _answer(function: Callable[[_Item], _Result], item: _Item, pipe: Connection, parent: int) -> None:
    die_with(parent)
    try:
        outcome = _PieceResult((function(item),))
    except KeyboardInterrupt:
        return
    except Exception as error:  # whatever it is, it is raised again where the caller can meet it
        outcome = _PieceResult(error=error)
    pipe.send(outcome)


def _outcome(one: _RunningPiece) -> _PieceResult[_Result]:
    try:
        outcome: _PieceResult[_Result] = one.pipe.recv()
    except EOFError:
        outcome = _PieceResult(error=VerificationFailed("a part of the work was killed; free memory, and try again"))
    one.process.join()
    return outcome


def _raise_first(ended: Mapping[int, _PieceResult[_Result]]) -> None:
    """Raise the error of the first item that has one, once all before it have ended."""
    for number in range(len(ended)):
        if number not in ended:
            return
        error = ended[number].error
        if error is not None:
            raise error
