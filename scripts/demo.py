#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Something to profile: a small text index that is built and queried until it is stopped, or for SECONDS.

    demo.py [SECONDS]
"""
import json
import re
import sys
import time

WORDS = "frame stack thread sample kernel python profile module function generator coroutine exception".split()


def write_pages(count):
    for number in range(count):
        words = [WORDS[(number * 7 + place * place) % len(WORDS)] for place in range(60)]
        yield json.dumps({"id": number, "text": " ".join(words)})


def tokenize(text):
    return re.findall(r"[a-z]+", text)


def build_index(lines):
    index = {}
    for line in lines:
        page = json.loads(line)
        for place, word in enumerate(tokenize(page["text"])):
            index.setdefault(word, []).append((page["id"], place))
    return index


def score(postings):
    return sum(1.0 / (1 + place) for _, place in postings)


def query(index):
    return sorted(((score(postings), word) for word, postings in index.items()), reverse=True)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main():
    end = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
    while time.monotonic() < end:
        query(build_index(write_pages(400)))
        fibonacci(18)


if __name__ == "__main__":
    main()
