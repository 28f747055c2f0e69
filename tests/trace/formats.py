"""Reads a trace in a machine format and checks what every event must have."""
import json
import sys

form, path = sys.argv[1:3]
calls = 0
with open(path) as f:
    events = json.load(f) if form == "chrome" else [json.loads(line) for line in f]
for e in events:
    if form == "chrome":
        assert e["ph"] in "XM", e
        if e["ph"] == "M":
            continue
        assert e["dur"] >= 0 and e["ts"] > 0 and e["pid"] > 0 and e["tid"] >= 0, e
        calls += "call" in e["args"]
    else:
        assert e["kind"] in ("call", "kernel", "copy", "compile"), e
        assert e["process"] > 0 and e["thread"] >= (e["kind"] != "compile") and e["start"] > 0 and e["depth"] >= 0, e
        if e["kind"] == "call":
            assert isinstance(e["arguments"], list) and "result" in e and e["duration"] >= 0, e
            calls += 1
print("calls", calls, "ok")
