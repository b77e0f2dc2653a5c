"""A large dict or set in the state of a key, as callbacks see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSet
from typing import Any

from millstream.plan.types.fields import Elements
from millstream.plan.types.values import MisfitError, keeping
from millstream.reference import paged
from millstream.reference.paged import Paged, page_of


class PagedMap(MutableMapping[Any, Any]):
    """Reads and writes the pages of the keys that it is asked for."""

    def __init__(self, value: Paged, elements: Elements) -> None:
        self._value = value
        self.elements = elements
        self._keep_key, self._keep = keeping(elements.key), keeping(elements.item)
        self._load = elements.load
        self._start(value.size, value.end, value.pages)

    def _start(self, size: int, end: int, pages: int) -> None:
        self._size, self._end, self._count = size, end, pages
        self._pages: dict[int, dict[Any, tuple[int, Any]]] = {}
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: object) -> bool:
        return key in self._page(self._number(key))

    def __getitem__(self, key: Any) -> Any:
        return self._page(self._number(key))[key][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        number = self._number(key)
        page = self._page(number)
        if key in page:
            page[key] = (page[key][0], value)
        else:
            page[key] = (self._end, value)
            self._end += 1
            self._size += 1
        self._changed.add(number)
        if self._size > self._count * paged.PAGE:
            self._split()

    def __delitem__(self, key: Any) -> None:
        number = self._number(key)
        del self._page(number)[key]
        self._changed.add(number)
        self._size -= 1

    def __iter__(self) -> Iterator[Any]:
        pages = [self._page(number) for number in range(self._count)]
        numbered = [(number, key) for page in pages for key, (number, _) in page.items()]
        # By number alone: keys need not have an order.
        return iter([key for _, key in sorted(numbered, key=lambda entry: entry[0])])

    def __reversed__(self) -> Iterator[Any]:
        return iter([*self][::-1])

    def popitem(self) -> tuple[Any, Any]:
        """Removes the newest entry."""
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Removes all."""
        self._start(0, self._end, 1)
        self._pages[0] = {}
        self._changed.add(0)

    def copy(self) -> dict[Any, Any]:
        """All entries."""
        return {key: self[key] for key in self}

    def __or__(self, other: Any) -> dict[Any, Any]:
        return self.copy() | dict(other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Any) -> dict[Any, Any]:
        return dict(other) | self.copy() if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> PagedMap:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return repr(self.copy())

    def kept(self) -> Paged:
        """The value now."""
        value = self._value
        # A value that is a list, say, may have changed in its place.
        looked_at = self._pages if self.elements.may_change else self._changed
        changed = {}
        for number in looked_at:
            page = self._pages[number]
            if None in page:
                raise MisfitError("no key of a MAP may be None")
            made = {self._keep_key(k): (n, self._keep(v)) for k, (n, v) in page.items()}
            if number in self._changed or made != value.page(number):
                changed[number] = made
        if not changed:
            return value
        self._changed = set()
        self._value = value.after(changed, size=self._size, end=self._end, pages=self._count)
        return self._value

    def _number(self, key: Any) -> int:
        return page_of(key, self._count)

    def _page(self, number: int) -> dict[Any, tuple[int, Any]]:
        found = self._pages.get(number)
        if found is None:
            load, found = self._load, dict(self._value.page(number))
            if load is not None:
                found = {key: (n, load(value)) for key, (n, value) in found.items()}
            self._pages[number] = found
        return found

    def _split(self) -> None:
        """Adds a page, which takes keys of one other."""
        new = self._count
        old = new - (1 << (new.bit_length() - 1))
        entries = self._page(old)
        self._count += 1
        self._pages[old], self._pages[new] = {}, {}
        self._changed |= {old, new}
        for key, entry in entries.items():
            self._pages[page_of(key, self._count)][key] = entry


class PagedSet(MutableSet[Any]):
    """The keys of a map without values."""

    def __init__(self, value: Paged, elements: Elements) -> None:
        self.elements = elements
        self._map = PagedMap(value, elements)

    @classmethod
    def _from_iterable(cls, values: Iterable[Any]) -> set[Any]:
        return set(values)

    def __len__(self) -> int:
        return len(self._map)

    def __contains__(self, value: object) -> bool:
        return value in self._map

    def __iter__(self) -> Iterator[Any]:
        return iter(self._map)

    def add(self, value: Any) -> None:
        """Adds a value, if it is not there."""
        if value not in self._map:
            self._map[value] = None

    def discard(self, value: Any) -> None:
        """Removes a value, if it is there."""
        self._map.pop(value, None)

    def clear(self) -> None:
        """Removes all."""
        self._map.clear()

    def copy(self) -> set[Any]:
        """All values."""
        return set(self)

    def update(self, *others: Iterable[Any]) -> None:
        """Adds all values of others."""
        for other in others:
            for value in other:
                self.add(value)

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Removes all values of others."""
        for other in others:
            for value in [*other]:
                self.discard(value)

    def __getattr__(self, name: str) -> Any:
        if name in ("union", "intersection", "difference", "symmetric_difference", "issubset"):
            return getattr(self.copy(), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Whether it has all values of another."""
        return all(value in self for value in other)

    def __repr__(self) -> str:
        return repr(self.copy())

    def kept(self) -> Paged:
        """The value now."""
        return self._map.kept()
