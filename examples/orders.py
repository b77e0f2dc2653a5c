"""Prices each order by the price list as it was when the order was made.

The price list is a topic of upserts: a record has the new price of an item, from its time on, or
none where the item is no longer sold. Orders arrive in any order, and so do prices; an order waits
until the watermarks of both topics have passed its time, and so has the price of its own time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from random import Random
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

import millstream as ms
from millstream.kafka import local

ITEMS = {"bread": 300, "cheese": 1200, "olives": 450}
HOURS = 8
HOUR = 3600.0
OPENS = 9 * HOUR


def price_list() -> list[dict[str, Any]]:
    """A new price of each item every hour, in cents; olives are sold out in the third."""
    random, made = Random(2), []
    for hour in range(HOURS):
        for item, price in ITEMS.items():
            sold_out = item == "olives" and hour == 2
            now = None if sold_out else price + random.randrange(-50, 50)
            made.append({"item": item, "price": now, "since": OPENS + hour * HOUR})
    return made


def orders() -> list[dict[str, Any]]:
    """Forty orders, in no order."""
    random = Random(3)
    return [
        {
            "number": number,
            "item": random.choice([*ITEMS]),
            "pieces": random.randint(1, 5),
            "at": OPENS + random.randrange(int(HOURS * HOUR)),
        }
        for number in range(40)
    ]


def priced_orders(servers: str) -> ms.Pipeline:
    """The program: each order with the price that was valid when it was made."""
    placed = ms.read_kafka(
        "orders", "number int, item string, pieces int, at double",
        event_time="at", watermark=ms.bounded("1h"), until="latest", servers=servers,
    )  # fmt: skip
    prices = ms.read_kafka(
        "prices", "item string, price int, since double",
        event_time="since", watermark=ms.bounded("1h"), until="latest", servers=servers,
    )  # fmt: skip
    priced = placed.temporal_join(prices, on="item", how="left", deleted="price IS NULL")
    return priced.with_columns(total="pieces * price").collect("orders")


def write_topics(servers: str) -> None:
    """Both topics, as other programs would write them."""
    admin = AdminClient({"bootstrap.servers": servers})
    producer = Producer({"bootstrap.servers": servers})
    for topic, rows in (("prices", price_list()), ("orders", orders())):
        admin.create_topics([NewTopic(topic, 2)])[topic].result()
        for row in rows:
            producer.produce(topic, json.dumps(row), key=row["item"])
    producer.flush()


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder, console.status("Kafka and Spark start …"):
        cluster = local.up(port=0, data=folder)
        try:
            write_topics(cluster.servers)
            job = priced_orders(cluster.servers).run("orders", mode="batch").wait()
        finally:
            local.down(folder)
    table = Table(title="Orders", title_justify="left", box=None)
    for column in ("number", "at", "item", "pieces", "price", "since", "total"):
        table.add_column(column)
    for row in sorted(job.rows("orders"), key=lambda row: row["number"]):
        table.add_row(*in_words(row))
    console.print(table)


def in_words(row: dict[str, Any]) -> list[str]:
    at = f"{int(row['at'] // HOUR):02}:{int(row['at'] % HOUR // 60):02}"
    text = [str(row["number"]), at, row["item"], str(row["pieces"])]
    if row["price"] is None:
        return [*text, "sold out", "", ""]
    return [*text, str(row["price"]), f"{int(row['since'] // HOUR):02}:00", str(row["total"])]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
