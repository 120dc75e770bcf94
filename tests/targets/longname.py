# SPDX-License-Identifier: Apache-2.0
"""One busy function whose name is wider than a terminal: longname.py SECONDS."""
import time

import pace

END = pace.deadline()


def a_function_of_a_long_name_that_nobody_would_give_to_a_function_but_for_a_test_of_what_is_cut_at_the_edge():
    while time.monotonic() < END:
        pass


pace.ready()
a_function_of_a_long_name_that_nobody_would_give_to_a_function_but_for_a_test_of_what_is_cut_at_the_edge()
