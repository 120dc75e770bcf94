# SPDX-License-Identifier: Apache-2.0
"""The programs: each is a function that prepares one and returns its step, a callable that does the same
work each time. Only the input sizes are ours."""
import asyncio
import os
import random
import sys


def benchmark(site, name, *arguments, sizes=None):
    """The benchmark of pyperformance's program `name` and its arguments."""
    path = os.path.join(site, "benchmarks", f"bm_{name}", "run_benchmark.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    sys.argv = [path, *arguments]
    names = {"__name__": "__main__", "__file__": path}
    exec(code, names)
    names.update(sizes or {})
    runner = sys.modules["pyperf"].Runner.last
    return runner.function, runner.arguments


def richards(site):
    function, arguments = benchmark(site, "richards")

    def step():
        function(*arguments)

    return step


def deltablue(site):
    function, _ = benchmark(site, "deltablue")

    def step():
        function(30)

    return step


def raytrace(site):
    function, arguments = benchmark(site, "raytrace", "--width", "16", "--height", "16")

    def step():
        function(1, *arguments)

    return step


def generators(site):
    function, _ = benchmark(site, "generators")
    tree = function.__globals__["tree"](range(2000))

    def step():
        for _ in tree:
            pass

    return step


def async_tree(site):
    function, _ = benchmark(site, "async_tree", "none", sizes={"NUM_RECURSE_LEVELS": 3})

    def step():
        asyncio.run(function())

    return step


def docutils(site):
    function, (root,) = benchmark(site, "docutils")

    class One:
        """A folder of one document."""

        def rglob(self, _pattern):
            return [root / "user" / "rst" / "quickstart.txt"]

    one = One()

    def step():
        function(1, one)

    return step


def sqlglot(site):
    function, _ = benchmark(site, "sqlglot_v2", "parse")

    def step():
        function(1)

    return step


def jinja2(_site):
    import jinja2 as library

    environment = library.Environment(loader=library.DictLoader({
        "base.html": "<title>{% block title %}{% endblock %}</title>{% block body %}{% endblock %}",
        "page.html": "{% extends 'base.html' %}{% block title %}{{ title|upper }}{% endblock %}{% block body %}"
                     "{% macro cell(x) %}<td>{{ x|e }}</td>{% endmacro %}{% for row in rows %}<tr>{% for x in row %}"
                     "{{ cell(x) }}{% endfor %}{% if loop.last %}end{% endif %}</tr>{% endfor %}{% endblock %}",
    }), autoescape=True)
    rows = [[f"<{i},{j}>" for j in range(8)] for i in range(20)]

    def step():
        environment.get_template("page.html").render(title="title", rows=rows)

    return step


def flask(_site):
    import flask as library

    application = library.Flask("truth")

    @application.route("/item/<int:number>")
    def item(number):
        return library.jsonify(number=number, text=library.request.args.get("q", ""))

    @application.route("/page")
    def page():
        return library.render_template_string("{% for i in range(5) %}{{ i }}{% endfor %}")

    client = application.test_client()

    def step():
        client.get("/item/7?q=x")
        client.get("/page")
        client.get("/missing")

    return step


def echo(_site):
    async def serve(reader, writer):
        line = await reader.readline()
        while line:
            writer.write(line)
            await writer.drain()
            line = await reader.readline()
        writer.close()

    async def exchange():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(60):
            writer.write(b"%d\n" % number)
            await writer.drain()
            await reader.readline()
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()

    def step():
        asyncio.run(exchange())

    return step


def pool_work(seed):
    draw = random.Random(seed)
    numbers = [draw.random() for _ in range(300)]
    return sum(sorted(numbers, key=lambda number: -number)[:3])


def pool(_site):
    import multiprocessing

    workers = multiprocessing.get_context("fork").Pool(2)

    def step():
        workers.map(pool_work, range(24))

    def finish():
        workers.close()
        workers.join()

    step.finish = finish
    return step


PROGRAMS = {function.__name__: function for function in (
    richards, deltablue, raytrace, generators, async_tree, docutils, sqlglot, jinja2, flask, echo, pool)}
