# SPDX-License-Identifier: Apache-2.0
"""A process that sleeps."""
import sys
import time

import pace

pace.ready()
time.sleep(float(sys.argv[1]))
