# SPDX-License-Identifier: Apache-2.0
"""The bare RemoteUnwinder of CPython 3.15: raw_unwinder.py PID RATE SECONDS OUT MODE. Reads stacks at the rate and
adds them up, and nothing more; writes them in the form of `profiling.sampling --collapsed`."""
import collections
import sys
import time

import _remote_debugging


def main(pid, rate, seconds, out, mode):
    if mode == "gil":
        unwinder = _remote_debugging.RemoteUnwinder(int(pid), all_threads=True, mode=2, skip_non_matching_threads=True,
                                                    cache_frames=True)
    else:
        unwinder = _remote_debugging.RemoteUnwinder(int(pid), cache_frames=True)
    period, end = 1 / float(rate), time.perf_counter() + float(seconds)
    due, taken, errors, stacks = time.perf_counter(), 0, 0, collections.Counter()
    while (now := time.perf_counter()) < end:
        if now < due:
            time.sleep(due - now)
            continue
        due += period
        taken += 1
        try:
            for interpreter in unwinder.get_stack_trace():
                for thread in interpreter.threads:
                    stacks[thread.thread_id, tuple(tuple(frame) for frame in thread.frame_info)] += 1
        except ProcessLookupError:
            break
        except (RuntimeError, OSError, UnicodeDecodeError, MemoryError):
            errors += 1
    with open(out, "w", encoding="utf-8", errors="surrogatepass") as file:
        for (thread, frames), count in stacks.items():
            parts = [f"{f[0].rsplit('/', 1)[-1]}:{f[2]}:{f[1][0] if f[1] else 0}" for f in reversed(frames)]
            file.write(f"tid:{thread};{';'.join(parts)} {count}\n")
    due_cnt = int(float(seconds) * float(rate))
    print(f"Captured {taken} samples in {seconds} seconds\nError rate: {100 * errors / max(taken, 1)}")
    if taken < due_cnt:
        print(f"missed {due_cnt - taken} samples")


main(*sys.argv[1:])
