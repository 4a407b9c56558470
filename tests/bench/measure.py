"""A small parent: runs one command and prints its CPU and wall time in seconds and its peak memory in KiB.

    python -I -S measure.py COMMAND [ARGUMENT...]

Linux counts the parent's memory into the child's peak, so the parent must be small itself: it imports nothing that a
bare interpreter has not loaded, and the bench calls it in a process of its own. The command reads nothing and its
output is thrown away.
"""

import os
import sys
import time


def main() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, null, n) for n in range(3)]
    start = time.perf_counter()
    pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=streams)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss, os.waitstatus_to_exitcode(status))


main()
