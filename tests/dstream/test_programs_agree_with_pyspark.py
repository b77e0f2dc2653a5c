"""Programs have the same batches on ``millstream.dstream`` and on ``pyspark.streaming``."""

from __future__ import annotations

import operator

import pyspark.streaming
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark import StorageLevel

import millstream.dstream
from dstream_programs import batches_of

NUMBERS = [[3, 1, 2], [5], [], [2, 2, 7, 1], [4, 4], [9], [1, 2, 3], [8]]
PAIRS = [[("a", 1), ("b", 2), ("a", 3)], [("b", 4)], [], [("c", 5), ("a", 6)], [("b", 7), ("b", 8)]]
OTHERS = [[("a", 10)], [("b", 20), ("d", 30)], [("a", 40)], [], [("b", 50), ("c", 60)]]


def elements(ssc):
    numbers = ssc.queueStream(NUMBERS)
    others = ssc.queueStream(NUMBERS[::-1])
    doubled = numbers.map(lambda n: n * 2)
    kept = doubled.persist(StorageLevel.MEMORY_AND_DISK)
    return {
        "map": doubled,
        "persist": kept.map(str),
        "cache": numbers.map(lambda n: n + 1).cache().filter(lambda n: n > 3),
        "flatMap": numbers.flatMap(range),
        "filter": numbers.filter(lambda n: n % 2),
        "mapPartitions": numbers.repartition(1).mapPartitions(lambda items: [sorted(items)]),
        "mapPartitionsWithIndex": numbers.mapPartitionsWithIndex(lambda i, ns: [(i, sum(ns))]),
        "glom": numbers.glom(),
        "count": numbers.count(),
        "reduce": numbers.reduce(operator.add),
        "countByValue": numbers.countByValue(),
        "repartition": numbers.repartition(3).glom().count(),
        "union": numbers.union(others),
        "union of all": ssc.union(numbers, others, doubled),
        "transform": numbers.transform(lambda rdd: rdd.distinct()),
        "transform to nothing": numbers.transform(lambda time, rdd: None),
        "transform pairs": numbers.transform(lambda rdd: rdd.cartesian(rdd)),
        "transform of all": ssc.transform([numbers, others], lambda rdds: rdds[1].union(rdds[0])),
        "transformWith": numbers.transformWith(lambda a, b: a.subtract(b), others),
        "transformWith time": numbers.transformWith(lambda _, a, b: a.intersection(b), others),
    }


def pairs(ssc):
    left, right = ssc.queueStream(PAIRS), ssc.queueStream(OTHERS)
    return {
        "mapValues": left.mapValues(str),
        "flatMapValues": left.flatMapValues(range),
        "reduceByKey": left.reduceByKey(operator.add),
        "combineByKey": left.combineByKey(str, lambda s, n: s + str(n), operator.add, 1),
        "groupByKey": left.groupByKey().mapValues(sorted),
        "partitionBy": left.partitionBy(3, ord).glom(),
        "cogroup": left.cogroup(right).mapValues(lambda both: [sorted(each) for each in both]),
        "join": left.join(right),
        "leftOuterJoin": left.leftOuterJoin(right, 1),
        "rightOuterJoin": left.rightOuterJoin(right),
        "fullOuterJoin": left.fullOuterJoin(right, 3),
    }


def windows(ssc):
    numbers, keyed = ssc.queueStream(NUMBERS), ssc.queueStream(PAIRS)

    def apart(a, b):  # shows where the inverse function was used
        return a - b + 1000

    return {
        "window": numbers.window(1.5),
        "window that slides": numbers.window(1.5, 1),
        "window with gaps": numbers.window(0.5, 1.5),
        "window of windows": numbers.window(1, 1).window(2, 1).count(),
        "reduceByWindow": numbers.reduceByWindow(operator.add, None, 1.5, 0.5),
        "reduceByWindow back": numbers.reduceByWindow(operator.add, apart, 2.5, 0.5),
        "countByWindow": numbers.countByWindow(1.5, 0.5),
        "countByWindow of five": numbers.countByWindow(2.5, 0.5),
        "countByValueAndWindow": numbers.countByValueAndWindow(2.5, 0.5),
        "groupByKeyAndWindow": keyed.groupByKeyAndWindow(1.5, 0.5).mapValues(sorted),
        "reduceByKeyAndWindow": keyed.reduceByKeyAndWindow(operator.add, None, 1.5, 1),
        "four slides": keyed.reduceByKeyAndWindow(operator.add, apart, 2, 0.5),
        "five slides": keyed.reduceByKeyAndWindow(operator.add, apart, 2.5, 0.5),
        "five long slides": keyed.reduceByKeyAndWindow(operator.add, operator.sub, 5, 1),
        "default slide": keyed.reduceByKeyAndWindow(operator.add, operator.sub, 2.5),
        "filterFunc": keyed.reduceByKeyAndWindow(
            operator.add, operator.sub, 2.5, 0.5, 1, lambda pair: pair[1] > 5
        ),
    }


def states(ssc):
    keyed = ssc.queueStream(PAIRS)

    def total(values, state):
        return sum(values) + (state or 0)

    def removed_when_silent(values, state):
        return sum(values) + (state or 0) if values else None

    totals = keyed.updateStateByKey(total)
    initial = ssc.sparkContext.parallelize([("a", 100), ("z", 1)])
    return {
        "updateStateByKey": totals,
        "removed": keyed.updateStateByKey(removed_when_silent, 1),
        "initial": keyed.updateStateByKey(total, initialRDD=initial),
        "initial list": keyed.updateStateByKey(total, initialRDD=[("b", 5)]),
        "window of states": totals.window(1, 1).mapValues(lambda n: n + 1),
        "state of windows": keyed.window(1, 1).updateStateByKey(total),
        "checkpoint": keyed.updateStateByKey(total).checkpoint(1),
    }


def queues(ssc):
    rdds = [ssc.sparkContext.parallelize(each, 2) for each in NUMBERS[:3]]
    return {
        "RDDs": ssc.queueStream(rdds),
        "all at once": ssc.queueStream(rdds, oneAtATime=False),
        "default": ssc.queueStream(rdds, default=rdds[0]),
        "default list": ssc.queueStream(NUMBERS[:2], False, [6, 7]),
        "only default": ssc.queueStream([], default=[1]),
    }


# Past the end of a queue of pairs; until the first batches have left the longest windows but one.
@pytest.mark.parametrize(
    ("program", "count"), [(elements, 5), (pairs, 6), (windows, 9), (states, 7), (queues, 5)]
)
def test_every_batch_has_what_it_has_in_pyspark(context, program, count):
    ours = batches_of(millstream.dstream, context, program, count)
    assert ours == batches_of(pyspark.streaming, context, program, count)


def growing(new, old):
    return sum(new) + (old or 0) or None


STEPS = {
    "map": lambda s, _: s.mapValues(lambda n: n + 1),
    "swap": lambda s, _: s.map(lambda pair: (pair[1] % 3, len(str(pair[0])))),
    "filter": lambda s, _: s.filter(lambda pair: pair[1] % 2),
    "flat": lambda s, _: s.flatMapValues(lambda n: range(n % 3)),
    "reduce": lambda s, _: s.reduceByKey(operator.add),
    "group": lambda s, _: s.groupByKey().mapValues(sum),
    "count": lambda s, _: s.count().map(lambda n: (n, n)),
    "values": lambda s, _: s.countByValue().map(lambda pair: (pair[0][0], pair[1])),
    "distinct": lambda s, _: s.transform(lambda rdd: rdd.distinct()),
    "cached": lambda s, _: s.cache().mapValues(lambda n: n - 1),
    "union": lambda s, other: s.union(other),
    "without": lambda s, other: s.transformWith(lambda a, b: a.subtract(b), other),
    "join": lambda s, other: s.join(other).mapValues(sum).reduceByKey(max),
    "left": lambda s, other: s.leftOuterJoin(other).mapValues(lambda both: both[0]),
    "full": lambda s, other: s.fullOuterJoin(other).mapValues(
        lambda both: (both[0] or 0) - (both[1] or 0)
    ),
    "cogroup": lambda s, other: s.cogroup(other).mapValues(
        lambda both: 10 * len(both[0]) + len(both[1])
    ),
    "window": lambda s, _: s.window(2 * s._slideDuration, s._slideDuration),
    "slide": lambda s, _: s.window(2 * s._slideDuration, 2 * s._slideDuration),
    "rolling": lambda s, _: s.reduceByKeyAndWindow(
        operator.add, operator.sub, 5 * s._slideDuration, s._slideDuration
    ),
    "rolling back": lambda s, _: s.reduceByKeyAndWindow(
        max, None, 3 * s._slideDuration, s._slideDuration
    ),
    "grouped": lambda s, _: s.groupByKeyAndWindow(2 * s._slideDuration, s._slideDuration).mapValues(
        sum
    ),
    "state": lambda s, _: s.updateStateByKey(growing),
    "begun state": lambda s, _: s.updateStateByKey(growing, initialRDD=[("a", 3), (1, 4)]),
}
numbers = st.integers(0, 100)
graphs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), numbers, numbers), min_size=16, max_size=16
)


@settings(max_examples=2, suppress_health_check=[*HealthCheck], phases=[Phase.generate])
@given(graphs)
def test_random_graphs_have_the_same_batches_as_in_pyspark(context, graph):
    def program(ssc):
        numbered = [[(str(n), n) for n in batch] for batch in NUMBERS]
        made = {"first": ssc.queueStream(PAIRS), "second": ssc.queueStream(numbered)}
        for step, parent, partner in graph:
            streams = [*made.values()]
            stream = streams[-1 - parent % min(6, len(streams))]
            alike = [each for each in streams if each._slideDuration == stream._slideDuration]
            other = alike[partner % len(alike)]
            name = f"{len(made)} {step} of {streams.index(stream)} and {streams.index(other)}"
            # Unions and windows add up partitions, each of which is a task: two will do.
            made[name] = STEPS[step](stream, other).transform(lambda rdd: rdd.coalesce(2))
        return made

    ours = batches_of(millstream.dstream, context, program, 7)
    assert ours == batches_of(pyspark.streaming, context, program, 7)
