"""Large lists, dicts and sets of the state behave as Python's own, and write what changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.plan.types.fields import Elements
from millstream.plan.types.values import MisfitError
from millstream.reference import paged
from millstream.reference.paged import Paged, page_of
from millstream.reference.paged_lists import PagedList
from millstream.reference.paged_maps import PagedMap, PagedSet

NUMBERS = Elements("list", None, "BIGINT", None)
COUNTS = Elements("map", "BIGINT", "BIGINT", None)
LISTS = Elements("map", "STRING", "ARRAY<BIGINT>", list)
SET = Elements("set", "BIGINT", None, None)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "PAGE", 4)


def stored(value: Paged) -> tuple[Paged, list[int]]:
    """The value as the next step reads it, and the numbers of pages that are read from then on."""
    reads: list[int] = []
    pages = {number: value.page(number) for number in value.numbers}

    def read(number: int) -> Any:
        reads.append(number)
        return pages[number]

    again = Paged(value.size, value.end, value.begin, value.pages, read=read, id=1)
    return again, reads


def large(values: Any, elements: Elements, kind: type) -> tuple[Any, list[int]]:
    value, reads = stored(paged.paged(values, elements))
    return kind(value, elements), reads


INDEXES = st.integers(-12, 12)
BOUNDS = st.one_of(st.none(), INDEXES)
ON_LISTS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 9)),
    st.tuples(st.just("insert"), INDEXES, st.integers(0, 9)),
    st.tuples(st.just("pop"), INDEXES),
    st.tuples(st.just("pop")),
    st.tuples(st.just("set"), INDEXES, st.integers(0, 9)),
    st.tuples(
        st.just("del slice"), st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([None, 2, -1]))
    ),
    st.tuples(st.just("set slice"), st.builds(slice, BOUNDS, BOUNDS), st.lists(st.integers(0, 9))),
    st.tuples(st.just("extend"), st.lists(st.integers(0, 9))),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("sort")),
    st.tuples(st.just("reverse")),
    st.tuples(st.just("clear")),
    st.tuples(st.just("save")),
)


def on_list(values: Any, operation: tuple[Any, ...]) -> Any:
    name, *args = operation
    match name:
        case "set":
            values[args[0]] = args[1]
        case "set slice":
            values[args[0]] = args[1]
        case "del slice":
            del values[args[0]]
        case _:
            return getattr(values, name)(*args)
    return None


def outcome(do: Any, *args: Any) -> Any:
    try:
        return do(*args)
    except (IndexError, KeyError, ValueError) as error:
        return type(error)


@given(st.lists(st.integers(0, 9), max_size=20), st.lists(ON_LISTS, max_size=12))
def test_a_large_list_does_what_a_list_does(first: list[int], operations: Any) -> None:
    plain, (view, _) = list(first), large(first, NUMBERS, PagedList)
    for operation in operations:
        if operation == ("save",):
            view = PagedList(stored(view.kept())[0], NUMBERS)
            continue
        assert outcome(on_list, view, operation) == outcome(on_list, plain, operation)
        assert view == plain
        assert len(view) == len(plain)
        assert [*view] == plain
        assert view[2:7] == plain[2:7]
        assert repr(view) == repr(plain)
    assert PagedList(stored(view.kept())[0], NUMBERS).copy() == plain


KEYS = st.integers(0, 30)
ON_MAPS = st.one_of(
    st.tuples(st.just("set"), KEYS, st.integers(0, 9)),
    st.tuples(st.just("pop"), KEYS),
    st.tuples(st.just("setdefault"), KEYS, st.integers(0, 9)),
    st.tuples(st.just("update"), st.dictionaries(KEYS, st.integers(0, 9))),
    st.tuples(st.just("popitem")),
    st.tuples(st.just("get"), KEYS),
    st.tuples(st.just("clear")),
    st.tuples(st.just("save")),
)


def on_map(values: Any, operation: tuple[Any, ...]) -> Any:
    name, *args = operation
    if name == "set":
        values[args[0]] = args[1]
        return None
    return getattr(values, name)(*args)


@given(st.dictionaries(KEYS, st.integers(0, 9), min_size=1), st.lists(ON_MAPS, max_size=12))
def test_a_large_dict_does_what_a_dict_does_in_the_same_order(
    first: dict[int, int], operations: Any
) -> None:
    plain, (view, _) = dict(first), large(first, COUNTS, PagedMap)
    for operation in operations:
        if operation == ("save",):
            view = PagedMap(stored(view.kept())[0], COUNTS)
            continue
        assert outcome(on_map, view, operation) == outcome(on_map, plain, operation)
        assert view == plain
        assert [*view.items()] == [*plain.items()]
        assert repr(view) == repr(plain)
    assert [*PagedMap(stored(view.kept())[0], COUNTS).items()] == [*plain.items()]


ON_SETS = st.one_of(
    st.tuples(st.sampled_from(["add", "discard", "remove"]), KEYS),
    st.tuples(
        st.sampled_from(["update", "difference_update", "union", "issuperset", "issubset"]),
        st.sets(KEYS),
    ),
    st.tuples(st.just("clear")),
    st.tuples(st.just("save")),
)


@given(st.sets(KEYS, min_size=1), st.lists(ON_SETS, max_size=12))
def test_a_large_set_does_what_a_set_does(first: set[int], operations: Any) -> None:
    plain, (view, _) = set(first), large(sorted(first), SET, PagedSet)
    for operation in operations:
        if operation == ("save",):
            view = PagedSet(stored(view.kept())[0], SET)
            continue
        assert outcome(on_map, view, operation) == outcome(on_map, plain, operation)
        assert view == plain
        assert view | {99} == plain | {99}
    assert PagedSet(stored(view.kept())[0], SET).copy() == plain


def test_an_append_reads_and_writes_the_last_page_only() -> None:
    view, reads = large(list(range(18)), NUMBERS, PagedList)
    view.append(18)
    assert reads == [4]
    assert dict(view.kept().changed) == {4: [16, 17, 18]}
    view, reads = large(list(range(20)), NUMBERS, PagedList)
    view.append(20)
    assert (reads, dict(view.kept().changed)) == ([], {5: [20]})


def test_what_leaves_at_the_front_reads_nothing_and_whole_pages_go() -> None:
    view, reads = large(list(range(20)), NUMBERS, PagedList)
    del view[:5]
    kept = view.kept()
    assert (reads, dict(kept.changed), kept.numbers, kept.size) == ([], {}, range(1, 5), 15)
    assert view[0] == 5


def test_a_lookup_reads_one_page_and_changes_none() -> None:
    view, reads = large({n: n for n in range(50)}, COUNTS, PagedMap)
    before = view._value
    assert view[17] == 17
    assert 99 not in view
    assert len(set(reads)) <= 2
    assert view.kept() is before
    view[17] += 1
    assert len(view.kept().changed) == 1


def test_a_list_in_a_dict_that_changes_in_its_place_is_written() -> None:
    view, _ = large({key: [1] for key in "abcdefghij"}, LISTS, PagedMap)
    assert view["a"] == [1]
    before = view._value
    assert view.kept() is before
    view["a"].append(2)
    (page,) = view.kept().changed.values()
    assert page["a"][1] == [1, 2]


def test_an_element_that_does_not_fit_is_found_when_the_state_is_kept() -> None:
    numbers, _ = large(list(range(9)), NUMBERS, PagedList)
    numbers[3] = "x"
    counts, _ = large({n: n for n in range(9)}, COUNTS, PagedMap)
    counts[None] = 1
    for view in (numbers, counts):
        with pytest.raises(MisfitError):
            view.kept()


@pytest.fixture
def equal_keys() -> Iterator[tuple[Any, Any]]:
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    east = noon.astimezone(timezone(timedelta(hours=2)))
    return iter(
        [(1, Decimal("1.00")), (True, 1), (noon, east), (date(2024, 5, 1),) * 2, ("ä",) * 2]
    )


def test_equal_keys_are_in_one_page(equal_keys: Iterator[tuple[Any, Any]]) -> None:
    for one, other in equal_keys:
        assert one == other
        assert all(page_of(one, n) == page_of(other, n) for n in range(1, 99))


def test_one_page_more_moves_keys_of_one_page_only() -> None:
    keys = [f"key {n}" for n in range(500)]
    for pages in range(1, 40):
        before = {key: page_of(key, pages) for key in keys}
        moved = {before[key] for key in keys if page_of(key, pages + 1) != before[key]}
        assert len(moved) <= 1
        assert max(page_of(key, pages) for key in keys) < pages
