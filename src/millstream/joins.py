"""Joins of the fluent API: streams that meet other streams or tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from millstream.model.durations import Duration
from millstream.model.errors import PlanError, in_step
from millstream.model.windowing import Windowing
from millstream.plan.build.cogroup import cogroup as cogrouped
from millstream.plan.build.cogroup import window_join
from millstream.plan.build.join_sides import SUFFIX, How
from millstream.plan.build.lookup import lookup
from millstream.plan.lookup import Missing, TableFormat
from millstream.plan.names import automatic_name
from millstream.plan.operators.interval_join import interval_join
from millstream.plan.operators.regular_join import check_no_ttl, regular_join
from millstream.plan.operators.temporal_join import Direction, TemporalHow, temporal_join
from millstream.row_steps import RowSteps


@dataclass(frozen=True, eq=False, repr=False)
class Joins(RowSteps):
    """Rows that can be joined with others."""

    def join(
        self,
        right: Self,
        on: Any = None,
        how: How = "inner",
        where: str | None = None,
        suffix: str = SUFFIX,
        ttl: Duration | None = None,
        unbounded_state: bool = False,
    ) -> Self:
        """The pairs of rows of two streams that have the same key, within each window, or ever.

        With windows, both streams have the same ``window``; ``trigger`` and ``refine`` need to be set on one of
        them only. ``on`` is a column, an expression ``… AS name``, a pair of these for the left and
        the right side, or a list of columns and pairs; or both streams are keyed by ``key_by``. A
        key that is null matches nothing. ``where`` is a further condition of a pair.

        ``how`` is ``"inner"``; ``"left"``, ``"right"`` or ``"full"``, where rows without a match
        are padded with nulls; ``"semi"`` or ``"anti"``, the rows of the left side that have a
        match, or none.

        The result has the keys once, the other columns of both sides, and ``window``, ``pane`` and
        ``kind`` as those of ``aggregate``. A name that the left side has gets the ``suffix`` on the
        right.

        Without windows, the result is always that of all rows so far: each row emits what it
        changes, and ``kind`` marks what is taken back. Rows meet if their event times are at most
        ``ttl`` apart, and are kept for twice as long. On endless input it is required, unless
        ``unbounded_state`` is true. Keys are columns or expressions, without names.

        >>> import millstream as ms
        >>> views = ms.from_rows(
        ...     [("ann", "shoes", 1), ("bob", "hats", 2)], schema="user string, page string, at int",
        ...     event_time="at")
        >>> buys = ms.from_rows(
        ...     [("ann", 60, 8)], schema="user string, price int, at int", event_time="at")
        >>> minute = ms.fixed("1m")
        >>> met = views.window(minute).join(buys.window(minute), on="user", how="left")
        >>> met
        <Stream 'join-1': user STRING, page STRING, at INT, price INT, at_right INT, window, pane>
        >>> met.select("user", "page", "price").collect().run().rows()
        [{'user': 'ann', 'page': 'shoes', 'price': 60}, {'user': 'bob', 'page': 'hats', 'price': None}]
        """  # noqa: E501 - as Python shows it
        if not isinstance(right, Joins):
            raise _no_stream("join", right)
        both = self.settings, right.settings
        if all(each.windowing == Windowing() for each in both):
            given = on, how, where, ttl, unbounded_state, suffix
            return type(self)(regular_join(self.node, right.node, both, *given))
        check_no_ttl(ttl, unbounded_state)
        inputs = {"left": (self.node, self.settings), "right": (right.node, right.settings)}
        return type(self)(window_join(inputs, on, how, where, suffix))

    def interval_join(
        self,
        right: Self,
        on: Any,
        between: tuple[Duration, Duration],
        how: How = "inner",
        where: str | None = None,
        suffix: str = SUFFIX,
    ) -> Self:
        """Pairs of a row and a row of ``right`` with equal keys, whose event times are near.

        A row at ``t`` meets rows of ``right`` from ``t + between[0]`` to ``t + between[1]``, both
        included. ``on`` is a column of both sides, a pair ``("a", "b")``, or a list of these; null
        equals nothing. ``where`` is a further condition on the columns of the pair, in which a name
        that the left side has gets the ``suffix`` on the right. A pair is emitted when both rows
        are there; its event time is the later of both.

        With ``how="left"``, ``"right"`` or ``"full"``, rows that meet none are emitted, too, with
        null for the other side: once the watermark shows that none can come or, after
        ``refine(ms.retracting)``, at once, to be taken back when one does. With ``"semi"`` the
        result is the rows, as they are, that meet any; with ``"anti"`` those that meet none. Rows
        behind the watermark are in ``.late``.

        >>> import millstream as ms
        >>> views = ms.from_rows(
        ...     [("x", 0.0), ("y", 5.0)], "ad string, seen double", "seen")
        >>> clicks = ms.from_rows(
        ...     [("x", 30.0), ("x", 90.0)], "ad string, clicked double", "clicked")
        >>> views.interval_join(clicks, on="ad", between=("0s", "1m")).collect().run().rows()
        [{'ad': 'x', 'seen': 0.0, 'clicked': 30.0}]
        """
        if not isinstance(right, Joins):
            raise _no_stream("interval_join", right)
        both = self.settings, right.settings
        given = on, between, how, where, suffix
        return type(self)(interval_join(self.node, right.node, both, *given))

    def temporal_join(
        self,
        table: Self,
        on: Any,
        how: TemporalHow = "inner",
        grace: Duration = 0,
        direction: Direction = "backward",
        tolerance: Duration | None = None,
        deleted: Any = None,
        suffix: str = SUFFIX,
    ) -> Self:
        """Each row with the version of a changing table that was valid at the row's event time.

        ``table`` is a stream of versions: a row is valid from its event time until that of the
        next row of the same key. A version for which ``deleted``, Spark SQL text, is true ends the
        one before. ``on`` is a column of both sides, a pair ``("a", "b")``, or a list of these.
        With ``how="left"``, rows that meet no version are kept, with null for its columns. A name
        that the rows have gets the ``suffix`` in the table.

        A row is emitted when the watermark of both sides has passed its time, so its version does
        not depend on which of them arrived first. ``grace`` is how far behind the watermark rows
        and versions may be; what comes later is in ``.late``. ``direction`` is the version to
        take: the last one at or before the row, the first one at or after it, or the nearest one;
        it is at most ``tolerance`` away in time.

        >>> import millstream as ms
        >>> orders = ms.from_rows(
        ...     [("x", 2, 5.0), ("x", 1, 15.0)], "item string, n int, at double", "at")
        >>> prices = ms.from_rows(
        ...     [("x", 100, 0.0), ("x", 90, 10.0)], "item string, price int, since double", "since")
        >>> priced = orders.temporal_join(prices, on="item").select("at", total="n * price")
        >>> priced.collect().run().rows()
        [{'at': 5.0, 'total': 200}, {'at': 15.0, 'total': 90}]
        """
        if not isinstance(table, Joins):
            raise _no_stream("temporal_join", table)
        both = self.settings, table.settings
        given = on, how, grace, direction, tolerance, deleted, suffix
        return type(self)(temporal_join(self.node, table.node, both, *given))

    def lookup(
        self,
        table: Any,
        on: Any,
        schema: Any = None,
        missing: Missing = "null",
        reload: Any = None,
        format: TableFormat | None = None,
        cache: Duration = 0,
        timeout: Duration = "30s",
        suffix: str = SUFFIX,
    ) -> Self:
        """The rows with the columns of the row of a table that has their key.

        ``table`` is a dict of rows by key; rows, or a DataFrame of Spark or Polars; the path of a
        file or folder, CSV, JSON lines or Parquet; or a function that gets a list of keys and
        returns a dict of the rows that it finds. ``schema`` has the columns: of a dict and of a
        function, those of the rows without the key.

        ``on`` is a column of both, a pair ``("id", "user_id")``, or a list of these. A row whose
        key is not in the table gets nulls, or is dropped: ``missing="drop"``.

        Files are read once, or again: ``reload="5m"``, or ``reload="change"``. A new version is
        seen from the beginning of a micro-batch on; all of a batch sees the same version, and so
        does a batch that is retried. The rows that a function returned may be used again for the
        time that ``cache`` says; it is called for at most ``timeout``.

        >>> import millstream as ms
        >>> orders = ms.from_rows([(1, "ann"), (2, "bob")], schema="id int, user string")
        >>> cities = {"ann": "Oslo"}
        >>> orders.lookup(cities, on="user", schema="city string").collect().run().rows()
        [{'id': 1, 'user': 'ann', 'city': 'Oslo'}, {'id': 2, 'user': 'bob', 'city': None}]
        """
        # Importing Polars takes a quarter of a second: it is imported only if it is used.
        from millstream.lookups.given import table_of

        with in_step(automatic_name("lookup", self.node)):
            given = on, schema, format, reload, cache, timeout
            made, keys = table_of(table, self.node, *given)
        return self._then(lookup(self.node, made, keys, missing, suffix))


def cogroup(**streams: Any) -> Any:
    """All rows of several streams by key, window and pane: a list for each, under its name.

    The streams have equally many keys of the same types, and the same windows. Without any rows of
    a stream, its list is empty.

    >>> import millstream as ms
    >>> carts = ms.from_rows([("ann", 1)], schema="user string, at int", event_time="at")
    >>> sales = ms.from_rows(
    ...     [("ann", 3), ("bob", 4)], schema="user string, at int", event_time="at")
    >>> def by_user(stream):
    ...     return stream.key_by("user").window(ms.fixed("1m"))
    >>> both = ms.cogroup(carts=by_user(carts), sales=by_user(sales))
    >>> both.select("user", carts="size(carts)", sales="size(sales)").collect().run().rows()
    [{'user': 'ann', 'carts': 1, 'sales': 1}, {'user': 'bob', 'carts': 0, 'sales': 1}]
    """
    for stream in streams.values():
        if not isinstance(stream, Joins):
            raise _no_stream("cogroup", stream)
    node = cogrouped({name: (each.node, each.settings) for name, each in streams.items()})
    first = next(iter(streams.values()))
    return type(first)(node)


def _no_stream(method: str, given: Any) -> PlanError:
    return PlanError(
        "MS113",
        f"{method}() takes streams, not {given!r}",
        fix="give streams made by ms.from_rows(…) and the like",
    )
