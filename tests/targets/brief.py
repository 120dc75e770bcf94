# SPDX-License-Identifier: Apache-2.0
"""A script that lives for about 100 ms."""
import pace


def short_life():
    pace.burn(0.1)  # @burn


short_life()  # @top
