"""Whatever a user's function raises is its failure, and of one record only if that is wanted."""

from __future__ import annotations

import pytest

import millstream as ms
from faulty import FAULTS, HOWS, Silent, expected, fail, yields
from millstream.model.errors import RunError
from millstream.plan.records import MOST_TEXT, record_text, shown

ROWS = ms.from_rows(HOWS, schema="how string")


def reasons(stream):
    job = ms.pipeline(stream.collect("good"), stream.rejected.collect("bad")).run()
    assert job.rows("good") == [{"how": "fine"}]
    return {row["record"]: row["reason"] for row in job.rows("bad")}


def test_a_record_on_which_a_function_fails_in_any_way_is_rejected():
    found = reasons(ROWS.map(fail, schema="how string", on_error="reject"))
    for how in HOWS[:-1]:
        reason = found.pop(record_text({"how": how}))
        assert reason.startswith(expected(how))
        assert len(reason) < MOST_TEXT + 100
    assert not found


def test_what_a_generator_gave_before_it_failed_is_not_kept():
    found = reasons(ROWS.flat_map(yields, schema="how string", on_error="reject"))
    assert len(found) == len(HOWS) - 1
    assert "generator raised StopIteration" in found[record_text({"how": "stop"})]


@pytest.mark.parametrize("how", HOWS[:-1])
def test_the_failure_of_a_function_names_the_step_and_the_record(how):
    rows = ms.from_rows([how], schema="how string")
    for stream in (
        rows.map(fail, schema="how string"),
        rows.map_batches(lambda batch: [fail(row) for row in batch], schema="how string"),
    ):
        with pytest.raises(RunError) as caught:
            stream.collect().run()
        assert caught.value.step == stream.node.name
        assert f"{{'how': '{how}'}}" in str(caught.value)
        assert len(str(caught.value)) < MOST_TEXT + 500
    assert (caught.value.__cause__ is None) == (how in ("huge", "silent"))


@pytest.mark.parametrize("how", FAULTS)
def test_keys_and_combines_fail_in_the_same_way(how):
    rows = ms.from_rows([how], schema="how string")

    def key(row) -> str:
        return fail(row)

    combined = ms.combine(
        "how", create=list, add=lambda acc, how: fail({"how": how}), extract=len, returns="int"
    )
    for stream in (rows.key_by(key).group(), rows.aggregate(n=combined)):
        with pytest.raises(RunError, match=f"MS201 in step 'aggregate-1': .*{expected(how)[:30]}"):
            stream.collect().run()


def test_somebody_who_interrupts_is_not_rejected():
    def interrupted(row):
        raise KeyboardInterrupt

    for on_error in ("fail", "reject", "drop"):
        with pytest.raises(KeyboardInterrupt):
            ROWS.map(interrupted, schema="how string", on_error=on_error).collect().run()


def test_values_without_text_are_shown_as_such():
    assert shown(Silent()) == "<Silent without text: ValueError in its repr>"
    assert record_text({"x": Silent()}) == '{"x":"<Silent without text: ValueError in its repr>"}'


def test_where_rows_may_be_taken_back_a_function_hands_their_kind_on():
    totals = ms.from_rows([(1,)], "n int").refine(ms.retracting).aggregate(n=ms.sum("n"))
    kept = totals.map(lambda row: (row["n"], row["kind"]), schema="n bigint, kind string")
    assert kept.collect().run().rows() == [{"n": 1, "kind": "+"}]
    mine = totals.map(lambda row: (row["n"], "mine"), schema="n bigint, kind string")
    with pytest.raises(RunError, match="MS202 in step 'map-1': .* has 'mine' in column 'kind'"):
        mine.collect().run()
    taken_up = totals.refine(ms.accumulating).aggregate(n=ms.max("n"))
    mine = taken_up.map(lambda row: (row["n"], "mine"), schema="n bigint, kind string")
    assert mine.collect().run().rows() == [{"n": 1, "kind": "mine"}]
