# SPDX-License-Identifier: Apache-2.0
"""A real program: the SQL parser sqlglot takes queries to tokens, to trees, and back to text."""
import gc

import board
import sqlglot

SECTIONS = ("tokens", "trees", "text")
QUERIES = (
    "SELECT c.name, SUM(o.price * o.count) AS total FROM orders o JOIN customers c ON c.id = o.customer "
    "WHERE o.day BETWEEN '2026-01-01' AND '2026-06-30' AND c.country IN ('NO', 'SE', 'DK') GROUP BY c.name "
    "HAVING SUM(o.price) > 1000 ORDER BY total DESC LIMIT 20",
    "WITH recent AS (SELECT id, kind, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY day DESC) AS place FROM events) "
    "SELECT kind, COUNT(*), MAX(CASE WHEN place < 3 THEN id ELSE NULL END) FROM recent GROUP BY kind",
)
TREES = [sqlglot.parse_one(query) for query in QUERIES]


def tokens():
    for query in QUERIES:
        sqlglot.tokenize(query)


def trees():
    sqlglot.parse_one(QUERIES[0])
    gc.collect()  # trees point at their parents


def text():
    for tree in TREES:
        tree.sql()


for warm_up in (tokens, trees, text) * 3:
    warm_up()
gc.collect()
gc.freeze()  # what is warm stays: a unit's own garbage is little to look through


def run(cells, row, rest):
    board.turns(cells, row, (tokens, trees, text), rest=rest)
