"""What other libraries call the methods of a stream, and what to write here instead."""

from __future__ import annotations

_GROUP = ".key_by('team').window(ms.fixed('1m')).aggregate(total=ms.sum('points'))"
_AGGREGATE = ".aggregate(total=ms.sum('points')), after key_by(…) and window(…)"
_ROWS = ".collect('results').run().rows()"
_WRITE = ".write_files(…), .write_kafka(…), .write_each(…), .write_console() or .collect()"
_BRANCH = ".branch(big='points > 3', rest=True)"
_UNION = ".union(other)"
_ADD = ".with_columns(double='points * 2')"
_BATCHES = ".map_batches(function, schema=…)"
_TOP = "ms.top(3, by='points') in aggregate(…): a stream itself has no order"

_INSTEAD = {
    **dict.fromkeys(("groupBy", "groupby", "group_by", "groupByKey", "keyBy"), _GROUP),
    **dict.fromkeys(("agg", "reduce", "reduceByKey", "reduce_by_key", "fold"), _AGGREGATE),
    **dict.fromkeys(("count", "sum", "min", "max", "mean", "avg"), _AGGREGATE),
    **dict.fromkeys(("withColumn", "withColumns", "with_column", "assign", "mutate"), _ADD),
    **dict.fromkeys(("withColumnRenamed", "rename"), ".select('old AS new', …)"),
    **dict.fromkeys(("selectExpr", "select_expr"), ".select('points * 2 AS double')"),
    **dict.fromkeys(("where", "query"), ".filter('points > 3')"),
    **dict.fromkeys(("split", "partition", "route", "sideOutput", "side_output"), _BRANCH),
    **dict.fromkeys(("flatMap", "explode"), ".flat_map(function, schema=…)"),
    **dict.fromkeys(("mapPartitions", "mapInPandas", "mapInArrow"), _BATCHES),
    "apply": ".map(function, schema=…)",
    **dict.fromkeys(("unionAll", "unionByName", "merge", "concat"), _UNION),
    **dict.fromkeys(("withWatermark", "assignTimestampsAndWatermarks"), ".with_event_time('at', "
        "ms.bounded('30s'))"),
    **dict.fromkeys(("show", "print", "pprint", "display"), ".write_console().run()"),
    **dict.fromkeys(("toPandas", "to_pandas", "take", "head", "limit"), _ROWS),
    **dict.fromkeys(("write", "writeStream", "write_stream", "sink", "sinkTo", "save"), _WRITE),
    **dict.fromkeys(("foreach", "foreachBatch", "foreach_batch"), ".write_each(function)"),
    **dict.fromkeys(("run", "start", "execute"), ".collect().run(): what runs has a sink"),
    **dict.fromkeys(("orderBy", "order_by", "sort"), _TOP),
    **dict.fromkeys(("dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark",
        "distinct", "unique"), ".deduplicate('id', within='1h')"),
    **dict.fromkeys(("updateStateByKey", "mapWithState", "map_with_state", "stateful_map"),
        ".key_by('word').update_state(lambda row, count: count + 1, initial=0)"),
    **dict.fromkeys(("cogroup", "coGroup", "coGroupByKey"), "ms.cogroup(one=left, two=right)"),
    **dict.fromkeys(("joinWith", "leftOuterJoin", "crossJoin"), ".join(other, on='id', how=…)"),
    **dict.fromkeys(("printSchema", "columns", "dtypes"), ".schema"),
    **dict.fromkeys(("alias", "name"), ".named('totals')"),
}  # fmt: skip


def instead_of(name: str) -> str | None:
    """What to write in place of a method that streams do not have, if another library has it.

    >>> instead_of("where")
    "write .filter('points > 3')"
    """
    instead = _INSTEAD.get(name)
    return None if instead is None else f"write {instead}"
