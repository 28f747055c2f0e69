"""usage: formats.py jsonl|chrome|counters|scopes FILE: the ranges and marks of client.c with all that it says of them; prints ok.
formats.py deferred FILE SAID: what deferred.c said is wanted, at these times, and nothing else but its groups."""
import json
import sys

form, path = sys.argv[1:3]
with open(path) as f:
    events = json.load(f) if form in ("chrome", "counters", "scopes") else [json.loads(line) for line in f]
events = [e for e in events if (e.get("cat") or e.get("library")) == "nvtx"]


if form == "counters":
    seen = [(e["name"], e.get("id"), e["args"]["value"]) for e in events if e["ph"] == "C"]
    assert seen == [("queue", "counted", -3), ("queue", "counted", 2**63 - 1), ("load", None, 0.25), ("load", None, 0.5),
                    ("narrow", None, -7), ("queue", "counted", 0)], seen
    print("ok")
    sys.exit()

if form == "scopes":
    tracks = {e["name"]: e.get("id") for e in events if e["ph"] == "C"}
    assert tracks["gpu"] == "GPU[0]" and tracks["pair.group's"] == "machine/nic" and tracks["root"] is None, tracks
    rest = [(e["ph"], e["args"].get("scope")) for e in events if e["ph"] != "C"]
    stream = "GPU[0]/stream"
    assert rest == [("i", stream), ("i", None), ("i", stream), ("X", stream), ("b", stream), ("e", stream),
                    ("i", "machine/nic")], rest
    print("ok")
    sys.exit()

if form == "deferred":
    groups = [(e["name"], e["payload"]) for e in events[:7]]
    assert groups == [("group.small", "-7"), ("group.real", "0.25"), ("group.last", "99"), ("chosen.real", "0.25"),
                      ("nested.own", "1"), ("nested.behind", "2"), ("short.small", "-7")], groups
    wanted = []
    with open(sys.argv[3]) as f:
        for line in f:
            how, _, rest = line.partition(" ")
            if how in ("want", "near"):
                times = rest.split()
                name = " ".join(w for w in times if not w.isdigit())
                wanted += [(name, int(t), how) for t in times if t.isdigit()]
    seen = [(e["name"], e["start"]) for e in events[7:]]
    assert len(seen) == len(wanted), (seen, wanted)
    for (name, at), (right, when, how) in zip(seen, wanted):
        assert name == right and abs(at - when) <= (0 if how == "want" else 50_000_000), (name, at, right, when)
    kinds = {e["name"]: (e["kind"], e["duration"], e.get("color")) for e in events}
    assert kinds["deferred range"][0] == "range" and 3000 <= kinds["deferred range"][1] < 10**9, kinds
    assert kinds["deferred range"][2] == "#00ff00" and kinds["in place"][0] == "mark", kinds
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
