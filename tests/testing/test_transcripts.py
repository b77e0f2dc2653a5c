"""Every engine runs every transcript, and a transcript that cannot be read says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.model.errors import TestingError
from millstream.testing import load, replay
from millstream.testing.transcript_text import text_of

FILES = sorted((Path(__file__).parent.parent / "transcripts").glob("*.yaml"))
TRANSCRIPTS = [transcript for file in FILES for transcript in load(file)]


# On Spark they share one query: tests/spark/test_every_transcript_runs_on_spark.py
@pytest.mark.parametrize("engine", ["reference", "columnar"])
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript.name)
def test_transcript(transcript, engine):
    transcript.check(engine)


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript.name)
def test_a_transcript_reads_back_as_it_is_written(transcript, tmp_path):
    (again,) = load(written(tmp_path, text_of(transcript)))
    assert again == transcript
    assert [repr(pane.timestamp) for pane in again.panes] == [
        repr(pane.timestamp) for pane in transcript.panes
    ]


def test_no_two_transcripts_have_the_same_name():
    names = [transcript.name for transcript in TRANSCRIPTS]
    assert len(names) == len(set(names)) > 100


ONE = """
name: One element
window: fixed(10)
steps:
  - elements: [[k, 1, 3]]
  - watermark: 10
    panes:
      - {window: [0, 10], values: [1], timing: ON_TIME, index: 0, last: true}
"""


def written(tmp_path, text):
    path = tmp_path / "transcript.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_transcript_that_holds_passes(tmp_path):
    load(written(tmp_path, ONE))[0].check()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("values: [1]", "values: [2]"),
        ("timing: ON_TIME", "timing: EARLY"),
        ("index: 0", "index: 1"),
        ("last: true", "last: false"),
        ("last: true", "last: true, timestamp: 9"),
        ("last: true", "last: true, kind: '-'"),
        ("last: true", "last: true, key: other"),
        ("window: [0, 10], values", "window: [0, 11], values"),
        ("watermark: 10\n    panes", "watermark: 11\n    late: []\n  - watermark: 12\n    panes"),
        ("    panes:\n", "    late: [{value: 1, time: 3, reason: expired}]\n    panes:\n"),
    ],
)
def test_a_transcript_that_does_not_hold_fails_and_shows_the_difference(tmp_path, right, wrong):
    assert right in ONE
    transcript = load(written(tmp_path, ONE.replace(right, wrong)))[0]
    with pytest.raises(TestingError, match="MS302.*One element") as caught:
        transcript.check()
    assert "(- expected, + came):\n" in str(caught.value)
    assert "\n- " in str(caught.value) or "\n+ " in str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("name: One element\n", "", "no 'name'"),
        ("window: fixed(10)", "window: fixd(10)", "did you mean 'fixed'"),
        ("window: fixed(10)", "window: fixed", "window: 'fixed' cannot be read: it is not called"),
        ("window: fixed(10)", "window: 10", "window: 10 cannot be read: it is no text"),
        ("window: fixed(10)", "window: ten", "window takes a kind of windows, not 'ten'"),
        ("window: fixed(10)", "window: fixed(10)\nrefine: [3]", "takes a refinement, not [3]"),
        ("window: fixed(10)", "window: fixed(10)\naggregate: total", "'total' is not one"),
        ("window: fixed(10)", "window: fixed(10)\ntrigger: 1", "trigger: 1 cannot be read"),
        ("window: fixed(10)", "window: fixed(10)\n3: 3", "unknown field 3"),
        ("window: fixed(10)", "window: fixed(0)", "longer than zero"),
        ("window: fixed(10)", "window: after_count(1)", "'after_count' is not known here"),
        ("window: fixed(10)", "window: __import__('os').getcwd()", "cannot be"),
        ("window: fixed(10)", "window: fixed(10)\nlatenes: 3", "unknown field 'latenes'"),
        ("- watermark: 10", "- watermark: 10\n    clock: 3", "both 'watermark' and 'clock'"),
        ("- watermark: 10\n    panes", "- panes", "the step has no event"),
        ("- watermark: 10", "- watermark: aa:bb:cc", "'aa:bb:cc' is not a point in time"),
        ("[[k, 1, 3]]", "[[k, 1, yesterday]]", "not a point in time"),
        ("[[k, 1, 3]]", "[[k, 1]]", "the element is ['k', 1], not [key, value, event time]"),
        ("[[k, 1, 3]]", "3", "elements: 3 is no list"),
        ("window: [0, 10]", "window: [0]", "the window is [0], not [start, end]"),
        (
            "- {window: [0, 10], values: [1]",
            "- 3\n      - {window: [0, 10], values: [1]",
            "the pane is 3, not a mapping",
        ),
        ("    panes:\n", "    late: 3\n    panes:\n", "late: 3 is no list"),
        ("    panes:\n", "    late: [3]\n    panes:\n", "the late element is 3, not a mapping"),
        (ONE, "3", "the transcript is 3, not a mapping"),
        ("steps:", "steps: 3\nextra:", "unknown field 'extra'"),
        (ONE[ONE.index("steps:") :], "steps: 3", "steps: 3 is no list"),
        ("name: One", "name: [", "not YAML"),
    ],
)
def test_a_transcript_that_cannot_be_read_has_a_reason(tmp_path, right, wrong, message):
    with pytest.raises(TestingError, match="MS301") as caught:
        load(written(tmp_path, ONE.replace(right, wrong)))
    assert message in str(caught.value)
    assert "transcript.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("fixed(10)", "fixd(10)", "One element: window: 'fixd'"),
        ("[[k, 1, 3]]", "[[k, 1]]", "One element, step 0: the element"),
        ("[[k, 1, 3]]", "[[k, 1, yesterday]]", "One element, step 0: time 'yesterday'"),
        ("index: 0, ", "", "One element, step 1: the pane has no 'index'"),
    ],
)
def test_an_error_names_the_file_the_transcript_and_the_step(tmp_path, right, wrong, place):
    with pytest.raises(TestingError, match=f"MS301: transcript.yaml: {place}"):
        load(written(tmp_path, ONE.replace(right, wrong)))


def test_advice_is_in_the_language_of_transcripts(tmp_path):
    text = ONE.replace("window: fixed(10)", "window: fixed(10)\ntrigger: repeatedly(3)")
    with pytest.raises(TestingError) as caught:
        load(written(tmp_path, text))
    assert caught.value.fix == "give a trigger, such as after_count(100) or at_watermark()"


def test_a_file_of_other_bytes_is_no_transcript(tmp_path):
    path = tmp_path / "transcript.yaml"
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(TestingError, match="MS301: .*transcript.yaml is not YAML"):
        load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TestingError, match="nowhere.yaml cannot be opened: No such file"):
        load(tmp_path / "nowhere.yaml")


def test_replay_takes_a_transcript_file(tmp_path):
    path = written(tmp_path, ONE)
    assert [pane.values for pane in replay(path)] == [(1,)]
    assert replay(path, engine="reference") == replay(str(path))


def test_replay_of_a_file_of_several_transcripts_requires_a_name(tmp_path):
    path = written(tmp_path, ONE + "---" + ONE.replace("One element", "Another"))
    assert len(replay(path, name="Another")) == 1
    with pytest.raises(TestingError, match="name one: name='One element' or name='Another'"):
        replay(path)
