"""soak: random problems, faults, kills and damage until the time is up (docs/TESTING.md, "Soak").

A campaign draws a case from a seed, runs it and judges it against something that is not spanfft. campaigns.py lists
them, run.py gives them turns and counts, worker.py is the process in which cases of one campaign run.
"""
