"""Whether a profile's records of the device belong to the calls that started them, by CUPTI's correlation numbers."""


def unmatched(records, calls):
    """records, calls: (correlation, begin) each. How many records there are, and how many are nobody's or began before
    their call."""
    begun = dict(calls)
    wrong = [c for c, begin in records if c not in begun or begin < begun[c]]
    twice = len(records) - len({c for c, _ in records})
    return len(records), len(wrong) + twice
