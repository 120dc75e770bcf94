# SPDX-License-Identifier: Apache-2.0
"""A script that lives for about 100 ms, or as many seconds as argument 1 says."""
import sys

import pace


def short_life(seconds):
    pace.burn(seconds)  # @burn


short_life(float(sys.argv[1]) if len(sys.argv) > 1 else 0.1)  # @top
