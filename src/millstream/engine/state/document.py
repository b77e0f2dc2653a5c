"""What a shard knows without reading its tables: one JSON document for all operators of a stage.

The format is described in ``docs/state-format.md``.
"""

from __future__ import annotations

import msgspec

from millstream.engine.operator import Advance, BucketName, Facts
from millstream.engine.state.blobs import READABLE, VERSION
from millstream.engine.watermarks import Channels
from millstream.model.instants import END_OF_TIME, START_OF_TIME


class Part(msgspec.Struct, array_like=True):
    """A batch that waits beside a bucket: the watermark at which it came, its rows and bytes."""

    arrived: int
    rows: int
    size: int


class Lane(msgspec.Struct):
    """The parts of one port whose rows have some of the keys; of all keys, if it has no number."""

    port: str
    number: int | None
    parts: list[Part] = []


class Bucket(msgspec.Struct):
    """A bucket: which tables and parts it has, and the facts that wake it (see ``Facts``)."""

    name: BucketName
    tables: list[str] = []
    rows: int = 0
    size: int = 0
    wakes: int = END_OF_TIME
    due: int | None = None
    holds: int | None = None
    lanes: list[Lane] = []
    paged: int = 0
    """How many bytes its pages have (see ``PagedTables``)."""

    @property
    def all_rows(self) -> int:
        """How many rows it has, in tables and parts."""
        return self.rows + sum(part.rows for lane in self.lanes for part in lane.parts)

    @property
    def all_bytes(self) -> int:
        """How many bytes they are."""
        return self.size + self.paged + sum(part.size for lane in self.lanes for part in lane.parts)

    @property
    def facts(self) -> Facts:
        return Facts(self.wakes, self.due, self.holds)

    def happens(self, advance: Advance) -> bool:
        """Whether something happens in it when time moves so far."""
        due = self.due is not None and self.due < advance.now
        return self.wakes <= advance.watermark or due

    def lane(self, port: str, number: int | None) -> Lane:
        """The parts of a port and lane, which may be none."""
        for lane in self.lanes:
            if (lane.port, lane.number) == (port, number):
                return lane
        self.lanes.append(Lane(port, number))
        return self.lanes[-1]


class Shared(msgspec.Struct):
    """Rows that are in many buckets (see ``Sharing``): their stretches, each a bucket by itself.

    ``made`` is the watermark up to which buckets have got what is shared. The operator's watermark
    may be put back behind it.
    """

    made: int = START_OF_TIME
    stretches: list[Bucket] = []


class Clocks(msgspec.Struct):
    """How far time has come for one operator of a shard, and what its buckets are."""

    watermark: int = START_OF_TIME
    output_watermark: int = START_OF_TIME
    now: int = 0
    channels: Channels = msgspec.field(default_factory=Channels)
    buckets: list[Bucket] = []
    shared: Shared = msgspec.field(default_factory=Shared)

    @property
    def all_buckets(self) -> list[Bucket]:
        """All that have rows, stretches too."""
        return [*self.buckets, *self.shared.stretches]


class Document(msgspec.Struct):
    """All of a shard: ``timer`` is when Spark wakes it (milliseconds), ``repaired`` the batch of
    the last repair of watermarks.
    """

    version: int = VERSION
    timer: int | None = None
    repaired: int = -1
    operators: dict[str, Clocks] = {}

    def to_json(self) -> bytes:
        """All of it as text."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes) -> Document:
        """The document that ``to_json`` wrote; refused if it is of another version."""
        begins = tuple(b'{"version":%d,' % version for version in READABLE)
        if not text.startswith(begins):  # the first field, and cheap to see
            version = msgspec.json.decode(text, type=_Versioned).version
            raise ValueError(f"a state of format {version}, where {VERSION} is known")
        document = msgspec.json.decode(text, type=cls)
        document.version = VERSION
        return document


class _Versioned(msgspec.Struct):
    version: int
