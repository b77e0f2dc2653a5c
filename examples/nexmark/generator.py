"""The events of Nexmark: people, auctions and bids, each a pure function of the number of an event.

So any range of events can be made by itself, in any number of partitions, and is always the same.
Of 50 events one is a person, three are auctions and 46 are bids. Half of the bids are for a hot
auction, and three of four bids and auctions are of a hot person, as in the generators of Beam and
Flink. Random numbers are hashes of the event's number, so that columns are made by NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

BEGIN = 1_436_918_400_000
"""2015-07-15, in milliseconds."""
FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
PEOPLE, AUCTIONS, ALL = 1, 3, 50
IN_FLIGHT, ACTIVE, LEAD = 100, 1000, 10
HOT = 100
CHANNELS = 10_000
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter"]
FIRST_NAMES += ["Walter"]
LAST_NAMES = [
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
]
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond"]
CITIES += ["Seattle", "Kent", "Cheyenne"]

PERSON = (
    "id bigint, name string, emailAddress string, creditCard string, city string, state string, "
    "dateTime timestamp, extra string"
)
AUCTION = (
    "id bigint, itemName string, description string, initialBid bigint, reserve bigint, "
    "dateTime timestamp, expires timestamp, seller bigint, category bigint, extra string"
)
BID = (
    "auction bigint, bidder bigint, price bigint, channel string, url string, "
    "dateTime timestamp, extra string"
)


@dataclass(frozen=True)
class Generator:
    """Events at a constant ``rate`` in a second of event time, in order."""

    rate: int = 1000

    @property
    def longest_auction(self) -> int:
        """The longest time that an auction lasts, in milliseconds."""
        return 2 * (IN_FLIGHT * ALL // AUCTIONS) * 1000 // self.rate + 1

    def tables(self, first: int, count: int) -> dict[str, pl.DataFrame]:
        """The people, auctions and bids among some events, by their numbers."""
        events = np.arange(first, first + count, dtype=np.int64)
        kind = events % ALL
        return {
            "person": self.people(events[kind < PEOPLE]),
            "auction": self.auctions(events[(kind >= PEOPLE) & (kind < PEOPLE + AUCTIONS)]),
            "bid": self.bids(events[kind >= PEOPLE + AUCTIONS]),
        }

    def write(self, folder: Path, events: int, parts: int) -> None:
        """The events as parquet files, a folder for each kind; each part is a range of them."""
        size = -(-events // parts)
        for part in range(parts):
            first = part * size
            made = self.tables(first, min(size, events - first))
            for kind, table in made.items():
                (folder / kind).mkdir(parents=True, exist_ok=True)
                table.write_parquet(folder / kind / f"{part:06}.parquet")

    def people(self, events: Integers) -> pl.DataFrame:
        """The people that these events are."""
        draw = Draws(events)
        name = pl.concat_str(draw.one_of(1, FIRST_NAMES), draw.one_of(2, LAST_NAMES), separator=" ")
        email = pl.format("{}@{}.com", draw.text(3, 7), draw.text(4, 5))
        card = [draw.below(5 + i, 10_000) for i in range(4)]
        digits = [pl.Series(each).cast(pl.String).str.zfill(4) for each in card]
        return pl.select(
            id=pl.Series(_last_person(events) + FIRST_ID),
            name=name,
            emailAddress=email,
            creditCard=pl.concat_str(*digits, separator=" "),
            city=draw.one_of(9, CITIES),
            state=draw.one_of(10, STATES),
            dateTime=self._times(events),
            extra=draw.extra(11, 130),
        )

    def auctions(self, events: Integers) -> pl.DataFrame:
        """The auctions that these events are."""
        draw = Draws(events)
        hot = _last_person(events) // HOT * HOT
        seller = np.where(draw.below(1, 4) > 0, hot, _next_person(events, draw, 2))
        horizon = (IN_FLIGHT * ALL // AUCTIONS) * 1000 // self.rate
        length = 1 + draw.below(3, max(2 * horizon, 1))
        initial = draw.prices(4)
        time = self._times(events)
        return pl.select(
            id=pl.Series(_last_auction(events) + FIRST_ID),
            itemName=draw.text(5, 20),
            description=draw.text(6, 100),
            initialBid=pl.Series(initial),
            reserve=pl.Series(initial + draw.prices(7)),
            dateTime=time,
            expires=time + (pl.Series(length) * 1000).cast(pl.Duration("us")),
            seller=pl.Series(seller + FIRST_ID),
            category=pl.Series(FIRST_CATEGORY + draw.below(8, CATEGORIES)),
            extra=draw.extra(9, 390),
        )

    def bids(self, events: Integers) -> pl.DataFrame:
        """The bids that these events are."""
        draw = Draws(events)
        last = _last_auction(events)
        lowest = np.maximum(last - IN_FLIGHT, 0)
        some = lowest + draw.below(1, last - lowest + 1 + LEAD)
        auction = np.where(draw.below(2, 2) > 0, last // HOT * HOT, some)
        hot = _last_person(events) // HOT * HOT + 1
        bidder = np.where(draw.below(3, 4) > 0, hot, _next_person(events, draw, 4))
        number = draw.below(5, CHANNELS)
        is_hot = draw.below(6, 2) > 0
        channels = _channels(np.where(is_hot, number % len(HOT_CHANNELS), number), is_hot)
        bids = pl.select(
            auction=pl.Series(auction + FIRST_ID),
            bidder=pl.Series(bidder + FIRST_ID),
            price=pl.Series(draw.prices(7)),
            dateTime=self._times(events),
            extra=draw.extra(8, 68),
        )
        names = ["auction", "bidder", "price", "channel", "url", "dateTime", "extra"]
        return bids.hstack(channels).select(names)

    def _times(self, events: Integers) -> pl.Series:
        millis = BEGIN + events * 1000 // self.rate
        return (pl.Series(millis) * 1000).cast(pl.Datetime("us", "UTC"))


class Draws:
    """Random numbers of events: each draw has a number of its own."""

    def __init__(self, events: Integers) -> None:
        self._events = events.astype(np.uint64)

    def numbers(self, draw: int) -> Numbers:
        """64 random bits for each event."""
        return _mixed(self._events * np.uint64(64) + np.uint64(draw))

    def below(self, draw: int, limit: int | Integers) -> Integers:
        """Whole numbers from 0 up to a limit."""
        return (self.numbers(draw) % np.asarray(limit).astype(np.uint64)).astype(np.int64)

    def prices(self, draw: int) -> Integers:
        """From 100 to 100,000,000 cents, as many of each number of digits."""
        uniform = self.numbers(draw) / 2.0**64
        return np.round(10 ** (6 * uniform) * 100).astype(np.int64)

    def one_of(self, draw: int, words: list[str]) -> pl.Series:
        """One of some words."""
        return pl.Series(words)[self.below(draw, len(words))]

    def text(self, draw: int, most: int, special: str = " ") -> pl.Series:
        """Letters, three and up to ``most`` of them, with a special one now and then."""
        return self._letters(draw, 3 + self.below(draw + 32, most - 3), special).str.strip_chars()

    def extra(self, draw: int, length: int) -> pl.Series:
        """About so many letters."""
        return self._letters(draw, length * 4 // 5 + self.below(draw + 32, length * 2 // 5))

    def _letters(self, draw: int, lengths: Integers, special: str = "") -> pl.Series:
        width = int(lengths.max(initial=1))
        seeds = self.numbers(draw)[:, None] + np.arange(-(-width // 8)).astype(np.uint64)
        bytes = _mixed(seeds).view(np.uint8)[:, :width]
        letters = bytes % 26 + ord("a")
        if special:
            letters[bytes < 20] = ord(special)
        letters[np.arange(width) >= lengths[:, None]] = 0
        texts = np.ascontiguousarray(letters).view(f"S{width}").ravel()
        return pl.Series(texts, dtype=pl.Binary).cast(pl.String)


def _channels(numbers: Integers, is_hot: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The channels with these numbers, and an address for each."""
    made = pl.DataFrame({"number": numbers, "is_hot": is_hot})
    known = made.unique(maintain_order=True)
    draw = Draws(known["number"].to_numpy() * 2 + known["is_hot"].to_numpy())
    names = pl.Series(HOT_CHANNELS)[known["number"].to_numpy() % len(HOT_CHANNELS)]
    parts = [draw.text(60 - i, 5, "_") for i in range(3)]
    address = pl.concat_str(pl.lit("https://www.nexmark.com"), *parts, separator="/")
    identity = pl.format("&channel_id={}", pl.Series(draw.below(50, 2**31)))
    has_one = ~pl.col("is_hot") & pl.Series(draw.below(51, 10) > 0)
    known = known.with_columns(
        channel=pl.when("is_hot").then(names).otherwise(pl.format("channel-{}", "number")),
        url=address
        + pl.lit("/item.htm?query=1")
        + pl.when(has_one).then(identity).otherwise(pl.lit("")),
    )
    found = made.join(known, on=["number", "is_hot"], how="left", maintain_order="left")
    return found.select("channel", "url")


def _last_person(events: Integers) -> Integers:
    return events // ALL


def _last_auction(events: Integers) -> Integers:
    """The newest auction when an event happens, or the event itself."""
    rounds, place = events // ALL, events % ALL
    before = np.where(place < PEOPLE, -1, np.minimum(place - PEOPLE, AUCTIONS - 1))
    return rounds * AUCTIONS + before


def _next_person(events: Integers, draw: Draws, number: int) -> Integers:
    people = _last_person(events) + 1
    active = np.minimum(people, ACTIVE)
    return people - active + draw.below(number, active + LEAD)


def _mixed(numbers: Numbers) -> Numbers:
    """Spreads the differences of numbers over all of their bits (SplitMix64)."""
    numbers = numbers + np.uint64(0x9E37_79B9_7F4A_7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
