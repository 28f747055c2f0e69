"""usage: formats.py jsonl|chrome|counters FILE: the ranges and marks of client.c with all that it says of them; prints ok."""
import json
import sys

form, path = sys.argv[1:]
with open(path) as f:
    events = json.load(f) if form != "jsonl" else [json.loads(line) for line in f]
events = [e for e in events if (e.get("cat") or e.get("library")) == "nvtx"]


if form == "counters":
    seen = [(e["name"], e.get("id"), e["args"]["value"]) for e in events if e["ph"] == "C"]
    assert seen == [("queue", "counted", -3), ("queue", "counted", 2**63 - 1), ("load", None, 0.25), ("load", None, 0.5),
                    ("narrow", None, -7), ("queue", "counted", 0)], seen
    print("ok")
    sys.exit()


def find(name):
    found = [e for e in events if e["name"] == name]
    assert found, name
    return found


def said(e):
    return e["args"] if form == "chrome" else e


first = find("registered")[0]
assert said(first)["domain"] == "I/O" and said(first)["category"] == "reads", first
assert said(first)["color"] == "#ff8000" and said(first)["payload"] == "0.5", first
find('plain "quoted"\n')
find("w\u00efde \U0001f600")
marks = find("marked")
assert len(marks) == 2 and said(marks[0])["payload"] == str(2**64 - 1), marks
assert "domain" not in said(marks[0]) and said(marks[1])["domain"] == "I/O", marks
assert said(marks[0])["category"] == "global" and said(marks[1])["category"] == 3, marks
if form == "chrome":
    assert first["ph"] == "X" and first["dur"] >= 0 and first["cname"] == "rail_idle", first
    assert [e["ph"] for e in find("process")] == ["b", "e"] and marks[0]["ph"] == "i", events
else:
    assert first["kind"] == "range" and marks[0]["kind"] == "mark" and find("process")[0]["id"] > 0, events
print("ok")
