#!/usr/bin/env python3
"""Installs frameworks from the ordinary registries, runs a fixed script of operations with each of them under cumu,
compares with the CPU's results, and writes what came of it into mapping/COMPATIBILITY.md.

usage: run.py [--install | --continue] BUILD TABLE [WORD]     WORD: only packages whose file name has it
--install: no more than that; --continue: of a run of all packages that was interrupted, those that it had not come to.
CUMU_FRAMEWORKS: folder for what is installed; else BUILD/frameworks.

A package is one file of packages/, NAME.py or NAME.sh, whose head says how it is to be had (see README.md). It is run
as NAME cpu FOLDER, which leaves the CPU's results there, then twice as NAME cuda FOLDER under `cumu run`. Each run is a
process of its own with a limit of CPU time; whatever fails becomes the row's reason. The packages behind it are installed in
the meantime.
"""
import concurrent.futures
import datetime
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the tree stays as it is

import install  # noqa: E402
import table  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_LIMIT = 600  # CPU seconds of one run


class Package:
    """What the head of a package's file says: `# key: value` lines; a key may stand on several."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.head = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("#!"):
                    continue
                if not line.startswith("#"):
                    break
                found = re.match(r"# ([a-z-]+): (.*)", line)
                if found:
                    self.head.setdefault(found[1], []).append(found[2].strip())

    def get(self, key, default=""):
        return " ".join(self.head.get(key, [default]))

    def words(self, key):
        return self.get(key).split()


RESTARTS = 20  # of a part that one of its steps ended


class Watch:
    """A process and its children, as /proc shows them: when have they used their time up, and when do they hang?

    Both by their CPU time, which does not depend on what else the machine does."""

    HANG = 300  # seconds in which none of them gets a second of CPU time, nor waits for a CPU
    TICKS = os.sysconf("SC_CLK_TCK")

    def __init__(self, session, limit):
        self.session, self.limit = session, limit
        self.used, self.ran, self.since = 0.0, 0.0, time.monotonic()

    def processes(self):
        """State and CPU seconds, with those of children that ended, of each thread and process of the session."""
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    field = file.read().rsplit(")", 1)[1].split()
                if int(field[3]) != self.session:
                    continue
                yield field[0], sum(map(int, field[11:15])) / self.TICKS
                for thread in glob.glob(path[:-4] + "task/*/stat"):
                    with open(thread, encoding="utf-8", errors="replace") as file:
                        yield file.read().rsplit(")", 1)[1].split()[0], 0
            except (OSError, IndexError):
                pass  # it has ended

    def late(self):
        """Why they are to be ended; an empty string if they are not."""
        now, found = time.monotonic(), list(self.processes())
        self.used = max(self.used, sum(cpu for _, cpu in found))
        if self.used > self.ran + 1 or any(state == "R" for state, _ in found):
            self.ran, self.since = self.used, now
        if self.used > self.limit:
            return f"not done after {self.limit} s of CPU time"
        return f"hangs: no CPU time for {self.HANG} s" if now - self.since > self.HANG else ""


class Ran:
    """What came of one process: its lines, seconds, CPU seconds (with those of its children), and its end."""

    def __init__(self, command, env, limit, log):
        start = time.monotonic()
        with open(log, "wb") as out:
            child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            watch, looked, self.late = Watch(child.pid, limit), start, ""
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() - looked > 2 and not self.late:
                    looked, self.late = time.monotonic(), watch.late()
                    if self.late:
                        os.killpg(child.pid, signal.SIGKILL)
                time.sleep(0.05)
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what it may have left behind
        except ProcessLookupError:
            pass
        self.seconds = time.monotonic() - start
        self.cpu = max(usage.ru_utime + usage.ru_stime, watch.used)
        self.status = os.waitstatus_to_exitcode(status)
        with open(log, encoding="utf-8", errors="replace") as out:
            self.lines = out.read().splitlines()
        self.passed = [line[3:] for line in self.lines if line.startswith("ok ")]
        self.failed = [line[7:] for line in self.lines if line.startswith("not ok ")]
        self.info = dict(line.split(" ", 2)[1:] for line in self.lines if re.match(r"info \S+ \S", line))
        begun = [line[10:] for line in self.lines if line.startswith("# running ")]
        self.inside = begun[-1] if begun else "its start"
        told = self.passed + [why.split(":")[0] for why in self.failed]
        within = self.status > 0 and bool(begun) and begun[-1] not in told  # a step ended the process
        if self.late:
            self.failed.append(f"{self.inside}: {self.late}")
        elif self.status < 0:
            self.failed.append(f"{self.inside}: ended by signal {-self.status}")
        elif within or (self.status and not self.failed):
            said = [line for line in self.lines if line.strip()]
            self.failed.append(f"{self.inside}: exit {self.status}: {said[-1] if said else 'nothing said'}")

        self.broken = bool(self.late) or self.status < 0 or within

    def add(self, other):
        """What another process ran of the same steps."""
        self.seconds, self.cpu = self.seconds + other.seconds, self.cpu + other.cpu
        self.passed, self.failed = self.passed + other.passed, self.failed + other.failed
        self.info.update(other.info)
        self.status = self.status or other.status
        self.late = self.late or other.late

    def result(self):
        all_ = len(self.passed) + len(self.failed)
        if not self.failed:
            return f"{all_} of {all_} right" if all_ else "nothing ran"
        rest = f" (and {len(self.failed) - 1} more)" if len(self.failed) > 1 else ""
        return f"{len(self.passed)} of {all_} right; {self.failed[0]}{rest}"

    def took(self):
        return f"{self.seconds:.1f} ({self.cpu:.1f})"


def run_parts(package, command, env, log):
    """All of a package's steps, in one process or, with `parts`, in so many, one after the other. There a process that
    ends within a step is followed by one for the steps behind it, so that the time limit is one for each."""
    limit, parts = int(package.get("limit") or DEFAULT_LIMIT), int(package.get("parts") or 1)
    if parts == 1:
        return Ran(command, env, limit, log)
    whole = None
    for part in range(1, parts + 1):
        after, restarts = [], 0
        while True:
            ran = Ran(command + [f"{part}/{parts}", *after], env, limit, f"{log[:-4]}.{part}.{restarts}.log")
            if whole:
                whole.add(ran)
            else:
                whole = ran
            if not ran.broken or restarts == RESTARTS or ran.inside in ("its start", *after):
                break
            after, restarts = [ran.inside], restarts + 1
    return whole


CHECKED = {}  # by root and file: several packages use one PyTorch, whose 19,392 kernels take minutes


def check_file(cumu, place, file):
    key = (*place.roots, file)
    if key not in CHECKED:
        CHECKED[key] = subprocess.run(place.outside + [cumu, "check", "--format", "tsv", file], capture_output=True,
                                      text=True, env=place.env, check=False).stdout
    return CHECKED[key]


def check(cumu, place, files):
    """`cumu check` of the files: its verdict, and the first reason."""
    if not files:
        return "nothing to check"
    out = "".join(check_file(cumu, place, file) for file in files)
    worst, reason = -1, ""
    order = ["will run", "will run with gaps", "will not run"]
    for line in out.splitlines():
        field = line.split("\t")
        if field[0] == "verdict" and field[1] in order and order.index(field[1]) > worst:
            worst, reason = order.index(field[1]), field[2] if field[1] == order[2] else ""
    if worst < 0:
        return "no verdict"
    return order[worst] + (f": {reason}" if reason else "")


def make_pack(package, place, base, row):
    """A pack for the package's files from those of another one, and what share of the kernels it has."""
    build = glob.glob(os.path.join(base, package.get("pack")))
    if not build:
        raise install.Failed(f"{package.get('pack')} is not there; another package has it")
    pack = os.path.join(place.work, "pack")
    made = subprocess.run([place.cumu, "pack", "make", "--from", *build, "--for", *place.files(package.words("check")),
                           "-o", pack], capture_output=True, text=True, env=place.env, check=False)
    share = re.search(r"PTX for \d+ \([^)]*\)", made.stdout)
    if made.returncode > 1 or not share:
        raise install.Failed(f"cumu pack make: exit {made.returncode}: {(made.stderr.splitlines() or [''])[-1]}")
    place.env["CUMU_PTX_PACK"] = pack
    row["what"] += f"; {share[0]} of the kernels"


def agree(verdict, ran):
    """Do the verdict and what happened say the same? What will not run must not; what will must not fail whole."""
    if verdict.startswith("will not run"):
        return not ran or bool(ran.failed)
    return bool(ran and ran.passed) if verdict.startswith("will run") else True


def start_row(package):
    return {"package": package.get("package"), "what": package.get("what"), "cuda": package.get("cuda"),
            "date": datetime.date.today().isoformat(), "version": "", "first": "", "second": "", "cpu": "",
            "verdict": "", "result": ""}


def make_place(package, build, base, done):
    """Installs a package if there is space for it, with an empty folder for its results."""
    folder = os.path.join(base, package.name)
    work = os.path.join(folder, "work")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    start = time.monotonic()
    place = install.make(package, build, base, folder, done)
    print(f"# installed {package.name} {place.version} ({time.monotonic() - start:.0f} s)", flush=True)
    return place


def run_package(package, place, base, row):
    """Fills one row of the table; is it right? Everything that goes wrong on the way is the row's result."""
    work = os.path.join(base, package.name, "work")
    if package.get("cannot"):
        row["result"] = "not run: " + package.get("cannot")
    try:
        place = place.result()
    except install.Failed as why:
        row["result"] = row["result"] or f"not installed: {why}"
        return False
    row["version"] = place.version
    cumu = place.cumu
    if package.get("pack"):
        try:
            make_pack(package, place, base, row)
        except install.Failed as why:
            row["result"] = f"not run: {why}"
            return False
    row["verdict"] = check(cumu, place, place.files(package.words("check")))
    if row["result"]:
        return True
    script = place.script + [place.inside(package.path)]
    # Without `cpu: no` a first run leaves the CPU's results; the package's own CPU back end makes them if it has one.
    if package.get("cpu") != "no":
        cpu = run_parts(package, place.enter + script + ["cpu", place.work], place.env, os.path.join(work, "cpu.log"))
        if cpu.status or cpu.late:
            row["result"] = f"not run: on the CPU {cpu.failed[0]}"
            return False
        if package.get("cpu").startswith("own"):
            row["cpu"] = f"{cpu.cpu:.1f}"
        else:
            row["cpu"] = f"{cpu.cpu:.1f} {package.get('cpu')}".strip()
    ran = []
    for turn in ("first", "second")[:int(package.get("runs") or 2)]:
        ran.append(run_parts(package, place.enter + [cumu, "run", "--backend", "host", "--"] + script +
                             ["cuda", place.work], place.env, os.path.join(work, f"{turn}.log")))
        row[turn] = ran[-1].took()
    worse = max(ran, key=lambda r: len(r.failed))
    row["result"] = worse.result() + (f" ({package.get('note')})" if worse.failed and package.get("note") else "")
    for one in ran:
        row.update(one.info)
    same = agree(row["verdict"], worse)
    if not same:
        row["verdict"] += " (disagrees)"
    return same and not worse.failed and bool(worse.passed)


def report(package, row, good, before):
    """The outcome's line, and the table's result before if it was another."""
    print(f"{'ok' if good else 'not ok'} {package.name} {row['version']}: {row['result']}; first {row['first']} s, "
          f"second {row['second']} s, check: {row['verdict']}", flush=True)
    old = before.get(table.cell(row["package"]))
    if old and old != table.cell(row["result"]):
        print(f"# before: {old}", flush=True)


def lock(base):
    """Held until this process ends: two drivers would install into one folder, and slow each other down."""
    os.makedirs(base, exist_ok=True)
    file = open(os.path.join(base, "lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"another run works in {base}")
    return file


class Whole:
    """A run of all packages: when it began and what it has done, in a file for the run that goes on with it."""

    def __init__(self, base, go_on):
        self.path = os.path.join(base, "run.json")
        self.state = {"begun": time.time(), "done": [], "interrupted": 0}
        if go_on and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.state = json.load(file)
            self.state["interrupted"] += 1
        self.state["commits"] = sorted({install.commit(), *self.state.get("commits", [])})
        self.keep()

    def keep(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.state, file)

    def done(self, name):
        self.state["done"].append(name)
        self.keep()

    def sign(self, path):
        table.sign(path, self.state["begun"], self.state["interrupted"], self.state["commits"])
        os.remove(self.path)


def make_row(package, place, base, write, before):
    """Runs a package and writes its row; is it right?"""
    row, good = start_row(package), False
    try:
        good = run_package(package, place, base, row) if write else bool(place.result())
    except Exception as error:  # a row of its own must not keep the others from theirs
        row["result"] = f"not run: {type(error).__name__}: {error}"
    row["result"] = row["result"].replace(base + os.sep, "")  # where it was tried is nobody's business
    if write:
        write(row)
    if write or not good:
        report(package, row, good, before)
    return good


def main():
    option = sys.argv.pop(1) if sys.argv[1].startswith("--") else ""
    build, path, word = (sys.argv[1:] + [""])[:3]
    build = os.path.abspath(build)
    base = os.path.abspath(os.environ.get("CUMU_FRAMEWORKS") or os.path.join(build, "frameworks"))
    files = sorted(glob.glob(os.path.join(HERE, "packages", "*.*")))
    known = [p for p in map(Package, files) if p.get("package")]
    locked = lock(base)
    whole = Whole(base, option == "--continue") if not word and option != "--install" else None
    packages = [p for p in known if word in p.name and not (whole and p.name in whole.state["done"])]
    if not packages:
        sys.exit(f"no package's file name has {word}")
    bad, before = 0, table.results(path)

    def write(row):
        table.write(path, row, [p.get("package") for p in known])
    # One after the other, but roots beside venvs: a root is shared by its suite's packages.
    with concurrent.futures.ThreadPoolExecutor(1) as venvs, concurrent.futures.ThreadPoolExecutor(1) as roots:
        places, done = [], []
        for number, package in enumerate(packages):
            for p in packages[len(places):number + 1 + install.AHEAD]:
                places.append((roots if p.words("apt") else venvs).submit(make_place, p, build, base, done))
            bad += not make_row(package, places[number], base, write if option != "--install" else None, before)
            if option != "--install":
                done.append(package.name)
            if whole:
                whole.done(package.name)
    if whole:
        whole.sign(path)
    print(f"# {len(packages) - bad} of {len(packages)} packages {'installed' if option == '--install' else 'right'}; "
          f"logs: {base}/NAME/work")
    locked.close()
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
