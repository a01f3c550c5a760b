"""Disturb runs on a bucket: kill launcher, worker or server, and run the same command again.

    python -m benchmarks.buckets 200 --seed 1

A real S3 server (versitygw) on loopback, built by Go; see ``tests/bucket_faults.py``. Prints JSON:
the disturbances that hit, by kind, and every violation; exit status 1 where there is one.
"""

import sys

from tests.bucket_faults import main

if __name__ == "__main__":
    sys.exit(main())
