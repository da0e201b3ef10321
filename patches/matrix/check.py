# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a change under every configuration asked for; one that cannot be had is a result with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.deadline import Deadline
from linesmith.analyzer.base.errors import DeadlinePassed, LinesmithError, TreeError, VerificationFailed
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.patches.build.confinement import compiler_version
from linesmith.patches.build.kbuild import is_kernel_code, seen_by_compilers
from linesmith.patches.build.preparation import Progress
from linesmith.patches.matrix import choice, kernels
from linesmith.patches.matrix.choice import CheckedChange, Environment, MatrixRequest
from linesmith.patches.matrix.records import Measured, measured
from linesmith.patches.matrix.users import CompiledUsers, compiled_users
from linesmith.patches.source.tree import Tree


def matrix(tree: Tree, file: str) -> tuple[str, ...]:
    """The configurations that are checked where all are asked for."""
    return kernels.MATRIX if is_kernel_code(tree.root, file) else choice.MATRIX


def names(tree: Tree, file: str) -> tuple[str, ...]:
    """Every configuration that has a name for this tree."""
    return tuple(kernels.RECIPES if is_kernel_code(tree.root, file) else choice.VARIANTS)


def check_names(tree: Tree, file: str, requested: Sequence[str], shown: Path | None = None) -> None:
    """Raise ``TreeError`` for a name that is neither known for a change of ``file`` nor a file.

    ``shown`` is what a reader knows the tree by, where that is not its root.
    """
    known = names(tree, file)
    unknown = [
        one for one in requested if one not in known and not (is_kernel_code(tree.root, file) and Path(one).is_file())
    ]
    if unknown:
        raise TreeError(f"there is no configuration {unknown[0]!r} for {shown or tree.root}; known: {', '.join(known)}")


def check(
    change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> tuple[ConfigurationCheck, ...]:
    """One result for each name, in their order; ``progress`` gets a line of text before anything slow.

    Raises what ``check_names`` does.
    """
    check_names(tree, _file(change), request.names)
    return tuple(_checked(name, change, tree, request, progress) for name in request.names)


def _checked(
    name: str, change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> ConfigurationCheck:
    recipes = kernels.RECIPES if is_kernel_code(tree.root, _file(change)) else choice.VARIANTS
    title = recipes[name].title if name in recipes else Path(name).name
    deadline = request.deadlines()
    late = ConfigurationCheck(title, failed=deadline.passed, unjudged=(_file(change),))
    progress(f"checking {title}")
    try:
        with deadline.running():
            environment = _environment(name, change, tree, request, progress)
            compiler = compiler_version(environment.build.flags.compiler).partition("\n")[0]
    except DeadlinePassed:
        return late
    except (LinesmithError, OSError) as error:
        return ConfigurationCheck(title, failed=_why(error))
    try:
        with deadline.running():
            found = measured(environment, change, progress) if change.record else Measured((), ())
    except DeadlinePassed:
        return replace(late, compiler=compiler, remarks=environment.build.remarks)
    except (LinesmithError, OSError) as error:
        return ConfigurationCheck(title, compiler, failed=_why(error), remarks=environment.build.remarks)
    users = _users(environment, change, request, deadline, progress)
    return ConfigurationCheck(
        title,
        compiler,
        found.records,
        found.residuals,
        users.units,
        remarks=(*environment.build.remarks, *found.remarks),
        left_out=(*found.left_out, *users.left_out),
        line_bytes=environment.line_bytes,
        unjudged=users.unjudged,
    )


def _users(
    environment: Environment, change: CheckedChange, request: MatrixRequest, deadline: Deadline, progress: Progress
) -> CompiledUsers:
    if request.users == 0:
        return CompiledUsers((), ())
    try:
        return compiled_users(environment, change, request.users, deadline, progress)
    except DeadlinePassed:
        return CompiledUsers((), (f"no object was compiled: {deadline.passed}",), (_file(change),))
    except (LinesmithError, OSError) as error:
        return CompiledUsers((), (f"no object was compiled: {_why(error)}",))


def _file(change: CheckedChange) -> str:
    """The file that the change is known by."""
    return change.file or change.files[0].file


def _why(error: LinesmithError | OSError) -> str:
    """A disk that is full, or a cache that cannot be written, is a reason like others."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'} cannot be written or read ({error.strerror or error})"
    return str(error)


def _environment(
    name: str, change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> Environment:
    file = _file(change)
    if not is_kernel_code(tree.root, file):
        return choice.program_environment(name, tree, seen_by_compilers(tree), file, change.unit)
    environment = kernels.kernel_environment(name, tree, request.cpus, progress)
    own = f"arch/{environment.folder}/"
    if file.startswith("arch/") and not file.startswith(own):
        raise VerificationFailed(f"{file} belongs to another machine")
    return environment
