"""Adds what is known of customers to their orders; that is in a file which changes meanwhile.

Files of orders are added while the job runs. Between them the file of customers is written anew:
the orders that arrive after that see it, and no order sees half of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

import millstream as ms

# What arrives: the orders of a file, and the customers from then on, if they change.
ARRIVALS: list[tuple[list[tuple[int, str, int]], dict[str, tuple[str, int]]]] = [
    ([(1, "ann", 30), (2, "bob", 50)], {"ann": ("Oslo", 0), "bob": ("Rome", 10)}),
    ([(3, "ann", 70), (4, "cid", 20)], {}),
    # ann has moved, cid is new, and bob has left.
    ([(5, "ann", 70), (6, "bob", 10), (7, "cid", 40)], {"ann": ("Bern", 20), "cid": ("Lima", 0)}),
]

Row = dict[str, Any]


def with_customers(orders: Path, customers: Path) -> ms.Pipeline:
    """The program: each order with the city and the discount of its customer."""
    stream = ms.read_files(
        orders, format="json", schema="id int, customer string, price int", name="orders"
    )
    known = stream.lookup(
        customers, on=("customer", "name"), schema="name string, city string, discount int",
        reload="change",
    )  # fmt: skip
    priced = known.with_columns(price="price * (100 - coalesce(discount, 0)) / 100")
    return priced.collect("orders")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as name:
        orders, customers = Path(name) / "orders", Path(name) / "customers.csv"
        orders.mkdir()
        with console.status("Spark starts …"):
            job = with_customers(orders, customers).run("customers")
        try:
            shown = 0
            for number, (arrived, changed) in enumerate(ARRIVALS, start=1):
                with console.status(f"File {number} arrives …"):
                    if changed:
                        write_customers(customers, changed)
                    add_file(orders / f"{number}.json", arrived)
                    job.process_all()
                new = job.rows("orders")[shown:]
                shown += len(new)
                for row in sorted(new, key=lambda row: row["id"]):
                    console.print(in_words(row), style="green" if row["city"] else "dim")
        finally:
            job.stop()


def write_customers(path: Path, customers: dict[str, tuple[str, int]]) -> None:
    lines = (f"{name},{city},{discount}\n" for name, (city, discount) in customers.items())
    put(path, "name,city,discount\n" + "".join(lines))


def add_file(path: Path, orders: list[tuple[int, str, int]]) -> None:
    rows = ({"id": id, "customer": customer, "price": price} for id, customer, price in orders)
    put(path, "".join(json.dumps(row) + "\n" for row in rows))


def put(path: Path, text: str) -> None:
    """Gives a file its name when it is complete: a job reads new files at once."""
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text, encoding="utf-8")
    os.replace(hidden, path)


def in_words(row: Row) -> str:
    to = row["city"] or "nobody knows where"
    return f"order {row['id']} of {row['customer']}: {row['price']:.2f}, to {to}"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # the exit code of Ctrl-C
