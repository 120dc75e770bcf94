# SPDX-License-Identifier: Apache-2.0
"""An echo server, its clients and tasks that burn CPU time in chains of coroutines, on uvloop's loop: uvloops.py SECONDS
FOLDER_OF_UVLOOP. The loop is no Python: what it calls stands right below run()."""
import asyncio
import sys

import pace

sys.path.insert(0, sys.argv[2])
import uvloop  # noqa: E402

END = pace.deadline()


def burn(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


async def leaf(n):
    burn(n)  # @leaf
    await asyncio.sleep(0)  # @sleep


async def middle(n):
    await leaf(n)  # @middle


async def outer(n):
    while pace.running(END):  # @outer_poll
        await middle(n)  # @outer


def answer(data):
    burn(40)  # @answer
    return data[::-1]


async def handle(reader, writer):
    while True:
        data = await reader.readexactly(64)  # @read
        writer.write(answer(data))  # @handle
        await writer.drain()


def check(data):
    burn(20)  # @check
    assert data == b"b" * 32 + b"a" * 32


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while pace.running(END):  # @client_poll
        writer.write(b"a" * 32 + b"b" * 32)
        check(await reader.readexactly(64))  # @client


class Plain(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(answer(data))  # @plain


def later(loop):
    burn(30)  # @later
    loop.call_soon(later, loop)


async def main():
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    plain = await loop.create_server(Plain, "127.0.0.1", 0)
    loop.call_soon(later, loop)
    tasks = [client(each.sockets[0].getsockname()[1]) for each in (server, plain)]
    tasks += [outer(100), outer(150)]
    pace.ready()
    await asyncio.wait([loop.create_task(each) for each in tasks])


def run():
    uvloop.new_event_loop().run_until_complete(main())  # @run


run()  # @top
pace.done()
