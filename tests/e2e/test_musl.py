# SPDX-License-Identifier: Apache-2.0
"""CPython linked to musl (scripts/fetch-builds), of each way in which stacks are read: frame objects (3.9), frames whose
offsets are generated (3.11) and those of the interpreter's own table (3.13). Threads are told by the thread pointer, as with
glibc. The tests that are imported here are all of it; kinds of frames, lines and shares are in the matrix."""
from test_builds import test_ps  # noqa: F401
from test_extreme import test_extreme  # noqa: F401
from test_processes import test_fork, test_thread_churn  # noqa: F401
from test_stacks import test_threads  # noqa: F401
from test_switch import test_callbacks, test_interpreters  # noqa: F401
