# SPDX-License-Identifier: Apache-2.0
"""A chain of coroutines, an async generator and an awaitable in Python, driven by send()."""
import time

from truth import DEAD, record


async def bottom():
    record(); time.sleep(DEAD)


class Awaitable:
    def __await__(self):
        yield from bottom().__await__()


async def numbers():
    yield await Awaitable()


async def consume():
    async for number in numbers():
        return number


async def middle(level):
    if level:
        return await middle(level - 1)
    return await consume()


def drive():
    middle(5).send(None)


drive()
