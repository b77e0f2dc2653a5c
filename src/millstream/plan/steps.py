"""Says in which step of a program an error was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millstream.model.errors import MillstreamError


@contextmanager
def in_step(name: str) -> Iterator[None]:
    """What is refused inside is refused in the step of that name.

    >>> from millstream.model.errors import PlanError
    >>> with in_step("filter-1"):
    ...     raise PlanError("MS112", "'points >' cannot be read", fix="write the rest")
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS112 in step 'filter-1': 'points >' cannot be read
      What to do: write the rest
      More: millstream help MS112
    """
    try:
        yield
    except MillstreamError as error:
        if error.step is not None:
            raise
        raise type(error)(error.code, error.what, fix=error.fix, step=name) from None
