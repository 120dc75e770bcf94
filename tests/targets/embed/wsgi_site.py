# SPDX-License-Identifier: Apache-2.0
"""A WSGI application whose handler spends its time in a known function."""
import time


def hot_function(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def handler(environ):
    hot_function(0.005)
    return environ["PATH_INFO"].encode()


def application(environ, start_response):
    body = handler(environ)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
