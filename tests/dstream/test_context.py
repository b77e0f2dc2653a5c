"""Starting, stopping and waiting; what fails in a batch; and programs that cannot run."""

from __future__ import annotations

import warnings
from datetime import timedelta
from itertools import pairwise

import pyspark.streaming
import pytest
from pyspark.sql import SparkSession

from millstream.dstream import DStream, State, StateSpec, StreamingContext, StreamingListener
from millstream.model.errors import PlanError
from waiting import until

INTERVAL = 0.2


@pytest.fixture
def ssc(context):
    made = StreamingContext(context, INTERVAL)
    yield made
    made.stop(False)


def collected(stream: DStream) -> list:
    """A list that gets what each RDD has."""
    batches: list = []
    stream.foreachRDD(lambda rdd: batches.append(rdd.collect()))
    return batches


def test_an_active_context_is_the_one_that_was_started_and_not_stopped(ssc, context):
    assert StreamingContext.getActive() is None
    collected(ssc.queueStream([[1]]))
    ssc.start()
    assert StreamingContext.getActive() is ssc
    assert StreamingContext.getActiveOrCreate(None, lambda: pytest.fail("there is one")) is ssc
    assert not ssc.awaitTerminationOrTimeout(0.001)
    ssc.stop(False)
    ssc.stop(False)  # no harm
    assert StreamingContext.getActive() is None
    assert ssc.awaitTerminationOrTimeout(0.001)
    other = StreamingContext(context, INTERVAL)
    assert StreamingContext.getActiveOrCreate(None, lambda: other) is other
    assert context.parallelize([1, 2]).count() == 2


def test_batch_times_are_multiples_of_the_interval_and_one_interval_apart(ssc):
    times: list = []
    ssc.queueStream([[1]]).foreachRDD(lambda time, rdd: times.append(time))
    ssc.start()
    until(lambda: len(times) >= 4)
    assert {second - first for first, second in pairwise(times)} == {timedelta(seconds=INTERVAL)}
    assert round(times[0].timestamp() * 1000) % 200 == 0


def test_a_function_that_fails_is_raised_and_later_batches_run(ssc):
    def fails(number):
        if number == 1:
            raise ValueError("This is a special error")
        return number

    batches = collected(ssc.queueStream([[0], [1], [2], [3]]).map(fails))
    ssc.start()
    until(lambda: len(batches) >= 3)
    assert batches[:3] == [[0], [2], [3]]
    with pytest.raises(Exception, match="This is a special error"):
        ssc.awaitTermination()


def test_a_transform_that_fails_is_raised_to_whoever_waits(ssc):
    def fails(_, rdd):
        raise ValueError("This is another error")

    ssc.queueStream([[0]]).transform(fails).pprint()
    ssc.start()
    with pytest.raises(ValueError, match="This is another error"):
        ssc.awaitTermination(60)


def test_a_graceful_stop_runs_the_batches_that_are_due(ssc):
    batches = collected(ssc.queueStream([[n] for n in range(5)], oneAtATime=False))
    ssc.start()
    ssc.stop(False, True)
    assert batches[0] == [0, 1, 2, 3, 4]


def test_a_batch_can_stop_its_own_context(ssc):
    ssc.queueStream([[1]]).foreachRDD(lambda rdd: ssc.stop(False))
    ssc.start()
    ssc.awaitTermination(60)
    assert StreamingContext.getActive() is None


def test_listeners_are_called_as_batches_begin_and_end(ssc):
    class Recorder(StreamingListener):
        def __init__(self):
            self.started, self.completed = [], []

        def onStreamingStarted(self, streamingStarted):
            self.started.append(streamingStarted.time)

        def onBatchCompleted(self, batchCompleted):
            self.completed.append(batchCompleted.batchInfo())

    class Failing(StreamingListener):
        def onStreamingStarted(self, streamingStarted):
            raise ValueError("it started")

        def onBatchSubmitted(self, batchSubmitted):
            raise ValueError("it was submitted")

    listener = Recorder()
    ssc.addStreamingListener(Failing())  # does no harm
    ssc.addStreamingListener(listener)
    collected(ssc.queueStream([[1], [2]]))
    ssc.start()
    until(lambda: len(listener.completed) >= 2)
    assert len(listener.started) == 1
    for info in listener.completed:
        assert info.batchTime().milliseconds() % 200 == 0
        assert info.totalDelay() >= info.processingDelay() >= 0
        assert info.outputOperationInfos()[0].failureReason() is None
        assert info.numRecords() == 0  # as in Spark: those of queues are not counted
        assert info.streamIdToInputInfo() == {}


def test_map_with_state_emits_for_each_pair_and_keeps_the_state(ssc):
    """As in Spark's guide: (a), (a, b), (b) gives (a, 1); (a, 2), (b, 1); (b, 2)."""

    def count(key, value, state: State):
        total = (state.getOption() or 0) + value
        state.update(total)
        return key, total

    words = ssc.queueStream([["a"], ["a", "b"], ["b"]]).map(lambda word: (word, 1))
    spec = StateSpec.function(count).initialState([("b", 10)])
    counts = words.mapWithState(spec)
    emitted, states = collected(counts), collected(counts.stateSnapshots())
    ssc.start()
    until(lambda: len(states) >= 4)
    assert [sorted(batch) for batch in emitted[:4]] == [
        [("a", 1)], [("a", 2), ("b", 11)], [("b", 12)], [],
    ]  # fmt: skip
    assert sorted(states[3]) == [("a", 2), ("b", 12)]


def test_map_with_state_removes_keys_that_time_out_when_it_checkpoints(ssc):
    def seen(time, key, value, state: State):
        if state.isTimingOut():
            return "out", key, state.get()
        if value == 0:
            state.remove()
        else:
            state.update(value)
        return None

    pairs = ssc.queueStream([[("a", 1), ("b", 2), ("c", 3)], [("b", 5)], [("c", 0)]])
    spec = StateSpec.function(seen).timeout(0.5).numPartitions(2)
    mapped = pairs.mapWithState(spec)
    mapped.checkpoint(0.4)
    emitted, states = collected(mapped), collected(mapped.stateSnapshots())
    ssc.start()
    until(lambda: len(states) >= 8)
    # Updated at 0.2 and 0.4; scanned at 0.4, 0.8 and 1.2: a is 0.6 old at 0.8, b is 0.8 at 1.2.
    assert emitted[:6] == [[], [], [], [("out", "a", 1)], [], [("out", "b", 5)]]
    assert [dict(batch) for batch in states[1:6]] == [
        {"a": 1, "b": 5, "c": 3}, {"a": 1, "b": 5}, {"b": 5}, {"b": 5}, {},
    ]  # fmt: skip


def test_a_dstream_says_whether_it_is_kept(ssc, context):
    stream = ssc.queueStream([[1]])
    assert ssc._sc is stream._sc is context
    assert ssc._jvm is context._jvm
    assert not stream.is_cached
    assert not stream.is_checkpointed
    stream.cache().checkpoint(1)
    assert stream.is_cached
    assert stream.is_checkpointed


def test_checkpoint_makes_its_folder_as_in_pyspark(context, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PySpark's own is deprecated
        theirs = pyspark.streaming.StreamingContext(context, 1)
    for name, made in (("ours", StreamingContext(context, 1)), ("theirs", theirs)):
        made.checkpoint(str(tmp_path / name / "checkpoint"))
        made.stop(False)
    assert [(tmp_path / name / "checkpoint").is_dir() for name in ("ours", "theirs")] == [True] * 2


def test_a_batch_has_the_session_of_its_program(ssc, spark):
    def register(rdd):
        session = SparkSession.builder.getOrCreate()
        rdd.map(lambda n: (n,)).toDF("n int").createOrReplaceTempView("of_a_batch")
        shown.append(session.table("of_a_batch").collect())

    key = "spark.sql.streaming.checkpointFileManagerClass"
    given, shown = spark.conf.get(key), []
    spark.newSession()  # PySpark makes RDD.toDF give DataFrames of the newest session
    spark.conf.unset(key)
    try:
        ssc.queueStream([[7]]).foreachRDD(register)
        ssc.start()
        assert spark.conf.get(key, None) is None
        until(lambda: ssc.awaitTerminationOrTimeout(0) or shown)
    finally:
        spark.conf.set(key, given)
    assert shown[0] == [(7,)]
    assert spark.catalog.dropTempView("of_a_batch")


def refused(what: str, make) -> None:
    with pytest.raises(PlanError, match=what) as raised:
        make()
    assert raised.value.code == "MS129"


def test_programs_that_cannot_run_are_refused(spark, tmp_path):
    context = spark.sparkContext
    refused("not a SparkSession", lambda: StreamingContext(spark, 1))
    ssc = StreamingContext(context, INTERVAL)
    refused("no output operations", ssc.start)
    numbers = ssc.queueStream([[1]])
    refused("windowDuration is 300 ms", lambda: numbers.window(0.3))
    refused("slideDuration is 100 ms", lambda: numbers.reduceByKeyAndWindow(None, None, 1, 0.1))
    refused("same slide", lambda: numbers.union(numbers.window(0.4, 0.4)))
    refused("takes 3 arguments", lambda: numbers.transform(lambda a, b, c: a))
    refused("slice needs", lambda: numbers.slice(0, 1))
    refused("no DStreams", ssc.union)
    numbers.foreachRDD(print)
    ssc.stop(False)
    refused("after the context has started", lambda: numbers.map(str))
    refused("was stopped", ssc.start)


def test_spark_connect_is_refused_since_it_has_no_rdds():
    with pytest.raises(PlanError, match="Spark Connect has no RDDs") as raised:
        StreamingContext(object(), 1)  # type: ignore[arg-type]
    assert raised.value.code == "MS128"
