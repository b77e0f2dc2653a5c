"""A large list in the state of a key, as callbacks see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from typing import Any, SupportsIndex

from millstream.plan.types.fields import Elements
from millstream.plan.types.values import keeping
from millstream.reference import paged
from millstream.reference.paged import Paged


class PagedList(MutableSequence[Any]):
    """Reads and writes the pages that it needs. To remove from its front moves nothing."""

    def __init__(self, value: Paged, elements: Elements) -> None:
        self._value = value
        self.elements = elements
        self._keep, self._load = keeping(elements.item), elements.load
        self._begin, self._end = value.begin, value.end
        self._pages: dict[int, list[Any]] = {}
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return self._end - self._begin

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while at < len(self):  # as a list does, whatever is added meanwhile
            yield self._at(at)
            at += 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._at(each) for each in range(*index.indices(len(self)))]
        return self._at(self._checked(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            whole = self.copy()
            whole[index] = value
            self._replace(0, whole)
            return
        number, at = divmod(self._begin + self._checked(index), paged.PAGE)
        self._changing(number)[at] = value

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                whole = self.copy()
                del whole[index]
                self._replace(0, whole)
                return
        else:
            start = self._checked(index)
            stop = start + 1
        if start >= stop:
            return
        if start == 0:
            self._begin += stop
        else:
            self._replace(start, self[stop:])

    def insert(self, index: Any, value: Any) -> None:
        """Inserts a value; at the end, only the last page changes."""
        at = slice(index, None).indices(len(self))[0]
        if at < len(self):
            self._replace(at, [value, *self[at:]])
            return
        number, at = divmod(self._end, paged.PAGE)
        if not at:
            self._pages[number] = []
        self._changing(number).append(value)
        self._end += 1

    def clear(self) -> None:
        """Removes all."""
        self._begin = self._end

    def copy(self) -> list[Any]:
        """All values."""
        return [*self]

    def sort(self, **how: Any) -> None:
        """Sorts all values."""
        self._replace(0, sorted(self, **how))

    def reverse(self) -> None:
        """Reverses all values."""
        self._replace(0, self[::-1])

    def __add__(self, other: Any) -> list[Any]:
        whole: list[Any] = self.copy() + _plain(other)
        return whole

    def __radd__(self, other: Any) -> Any:
        return other + self.copy()

    def __mul__(self, times: int) -> list[Any]:
        return self.copy() * times

    __rmul__ = __mul__

    def __iadd__(self, values: Iterable[Any]) -> PagedList:  # type: ignore[misc]
        self.extend(values)
        return self

    def __eq__(self, other: object) -> Any:
        return self.copy() == _plain(other)

    def __lt__(self, other: Any) -> Any:
        return self.copy() < _plain(other)

    def __gt__(self, other: Any) -> Any:
        return self.copy() > _plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.copy())

    def kept(self) -> Paged:
        """The value now."""
        value = self._value
        now = Paged(len(self), self._end, self._begin).numbers
        # A value that is a list itself may have changed in its place.
        looked_at = self._pages if self.elements.may_change else self._changed
        changed = {}
        for number in looked_at:
            if number in now:
                made = [self._keep(each) for each in self._pages[number]]
                if number in self._changed or made != value.page(number):
                    changed[number] = made
        if not changed and (self._begin, self._end) == (value.begin, value.end):
            return value
        self._changed = set()
        self._value = value.after(changed, size=len(self), begin=self._begin, end=self._end)
        return self._value

    def _checked(self, index: SupportsIndex) -> int:
        return range(len(self))[index]

    def _at(self, index: int) -> Any:
        number, at = divmod(self._begin + index, paged.PAGE)
        return self._page(number)[at]

    def _page(self, number: int) -> list[Any]:
        found = self._pages.get(number)
        if found is None:
            load, values = self._load, self._value.page(number)
            found = list(values) if load is None else [load(each) for each in values]
            self._pages[number] = found
        return found

    def _changing(self, number: int) -> list[Any]:
        page = self._page(number)
        self._changed.add(number)
        return page

    def _replace(self, start: int, values: list[Any]) -> None:
        """All values from an index on become these."""
        position = self._begin + start
        first, at = divmod(position, paged.PAGE)
        self._end = position + len(values)
        if at:
            values = self._page(first)[:at] + values
        for i in range(0, len(values), paged.PAGE):
            number = first + i // paged.PAGE
            self._pages[number] = values[i : i + paged.PAGE]
            self._changed.add(number)


def _plain(given: Any) -> Any:
    return given.copy() if isinstance(given, PagedList) else given
