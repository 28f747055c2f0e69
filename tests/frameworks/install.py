"""Where a package lives: a venv of its own, or a Debian suite's own root in which it is run by chroot."""
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MIRROR = "http://deb.debian.org/debian"
# What cumu's libraries need in a root: their own libraries, and a compiler for kernels.
ROOT_PACKAGES = ["gcc", "libc6-dev", "libelf1", "libzstd1", "liblz4-1", "libopenblas0-pthread", "libfftw3-double3",
                 "libfftw3-single3"]


TRIES = 3  # of what downloads; pip and apt keep what they have got
SPACE = 12 << 30  # bytes that must be free before a package is installed; the largest of them take about 8 GB
AHEAD = 3  # packages that are installed while one runs
SECONDS = 3600  # that one command of an installation may take


class Failed(Exception):
    """Why a package could not be installed: the row's result."""


class Place:
    """How to run something in a place.

    enter: words before a command that run it inside; outside: the same for the tool alone. script: the interpreter.
    work: the folder for results, as the inside names it. env: the environment.
    """

    def __init__(self):
        self.enter, self.outside, self.script = [], [], []
        self.version, self.work, self.cumu = "", "", ""
        self.env, self.roots, self.map = {}, [], []

    def inside(self, path):
        """The name that a path of this machine has inside."""
        for outside, inside in self.map:
            if path.startswith(outside):
                return inside + path[len(outside):]
        return path

    def files(self, patterns):
        """The files that patterns below the place's roots stand for, named as inside."""
        found = {}
        for pattern in patterns:
            bound = [outside + pattern[len(inside) - 1:] for outside, inside in self.map if inside and
                     pattern.startswith(inside[1:] + "/")]
            for place in bound or [os.path.join(root, pattern) for root in self.roots]:
                for path in sorted(glob.glob(place)):
                    found.setdefault(os.path.realpath(path), path)  # names of one library are one file
        return [self.inside(f) for f in found.values()]


def run(command, what, tries=1, **more):
    """Runs a step of an installation; its last line is the reason if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=SECONDS, **more)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{what}: not done after {SECONDS} s") from late
    if done.returncode and tries > 1:
        return run(command, what, tries - 1, **more)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()] or ["nothing said"]
        errors = [line for line in lines if re.search("error", line, re.I)]
        raise Failed(f"{what}: {(errors or lines)[-1]}")
    return done.stdout


def pip(python, base, arguments):
    """pip installs; wheels that several packages need, and those of a try that failed, are downloaded once."""
    cache = {} if "PIP_CACHE_DIR" in os.environ else {"PIP_CACHE_DIR": os.path.join(base, "pip-cache")}
    run([python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *arguments], "pip", TRIES,
        env={**os.environ, **cache})


def git(*arguments):
    done = subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def commit():
    """The commit of the tree that is tested, with + if files differ from it other than the table."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)mapping/COMPATIBILITY.md")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def environment(package, build, folder):
    """The caller's environment without what would lead elsewhere."""
    env = {k: v for k, v in os.environ.items() if not re.match("CUMU|LD_|PYTHON|VIRTUAL_ENV|XLA_|TRITON_|CUDA_", k)}
    # A file is called as its package is: the folder it lies in is not for imports, that of steps.py is.
    env.update({"PYTHONSAFEPATH": "1", "PYTHONPATH": os.path.join(HERE, "lib")})
    env["CUMU_CACHE_DIR"] = os.path.join(folder, "work", "cache")
    env["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "work", "pycache")  # pip compiles nothing: most is never imported
    env["HOME"] = os.path.join(folder, "work", "home")
    os.makedirs(env["HOME"], exist_ok=True)
    return env


def own_variables(package):
    return dict(word.split("=", 1) for word in package.words("env"))


def make_venv(package, build, base, folder):
    """A venv with what the head's `pip` lists. It is made anew when that list changes."""
    venv = os.path.join(folder, "venv")
    python = os.path.join(venv, "bin", "python")
    wanted = package.get("pip")
    marker = os.path.join(venv, "installed")
    if not os.path.exists(marker) or open(marker, encoding="utf-8").read() != wanted:
        shutil.rmtree(venv, ignore_errors=True)
        host = [sys.executable, "-m", "venv", venv]
        if subprocess.run(host, capture_output=True, check=False).returncode:
            need("python3-venv")
            run(host, "venv")
        pip(python, base, package.words("pip"))
        with open(marker, "w", encoding="utf-8") as file:
            file.write(wanted)
    place = Place()
    place.roots = glob.glob(os.path.join(venv, "lib", "python3*", "site-packages"))
    place.script = [python]
    place.work = os.path.join(folder, "work")
    place.cumu = os.path.join(build, "bin", "cumu")
    place.env = environment(package, build, folder)
    place.env["PATH"] = os.path.join(venv, "bin") + ":" + place.env.get("PATH", "/usr/bin:/bin")
    place.env.update(own_variables(package))
    name = re.split(r"[\[<>=!~]", [w for w in package.words("pip") if not w.startswith("-")][0])[0]
    shown = run([python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"], name)
    place.version = shown.strip()
    return place


def need(debian):
    """Installs a tool of this machine's own Debian; a message with the command where that may not be."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", debian]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failed(f"needs {debian} ({' '.join(command)})")
    if subprocess.run(command, capture_output=True, check=False).returncode:
        run(["apt-get", "update"], "apt-get update")
        run(command, f"apt-get install {debian}")


def make_root(package, build, base, folder):
    """A root of the suite that `apt` begins with, and the packages behind it in it. A suite has one root."""
    suite, *debs = package.words("apt")
    if os.geteuid() != 0:
        raise Failed("a root of Debian's needs chroot, and that root")
    root = os.path.join(base, "root-" + suite)
    if not os.path.exists(os.path.join(root, "made")):
        if not shutil.which("debootstrap"):
            need("debootstrap")
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(os.path.join(root, "etc/dpkg/dpkg.cfg.d"))
        with open(os.path.join(root, "etc/dpkg/dpkg.cfg.d/quick"), "w", encoding="utf-8") as file:
            file.write("force-unsafe-io\n")  # a root that breaks is made anew
        debs_got = os.path.join(base, "debs-" + suite)
        os.makedirs(debs_got, exist_ok=True)
        run(["debootstrap", "--variant=minbase", "--components=main,contrib,non-free,non-free-firmware",
             "--cache-dir=" + debs_got, suite, root, MIRROR], "debootstrap", TRIES)
        enter_run(root, ["apt-get", "-o", "APT::Install-Recommends=0", "install", "-y", *ROOT_PACKAGES], TRIES)
        open(os.path.join(root, "made"), "w", encoding="utf-8").close()
    lists = enter_run(root, ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"])
    have = {line.split()[0] for line in lists.splitlines() if line.endswith(" installed")}
    for word in package.words("empty"):
        if word.split("=")[0] not in have:
            install_empty(root, *word.split("="))
    missing = [d for d in debs if d.split("=")[0] not in have]
    if missing:
        enter_run(root, ["apt-get", "-o", "APT::Install-Recommends=0", "install", "-y", *missing], TRIES)
        enter_run(root, ["apt-get", "clean"])
    binds = [(build, "/opt/cumu-build"), (HERE, "/opt/frameworks"), (os.path.join(folder, "work"), "/opt/work")]
    if package.words("pip"):
        target = os.path.join(folder, "pip")
        if not os.path.exists(target):
            shutil.rmtree(target + ".part", ignore_errors=True)
            pip(sys.executable, base, ["--no-deps", "--target", target + ".part", *package.words("pip")])
            os.rename(target + ".part", target)
        binds.append((target, "/opt/pip"))
    place = Place()
    place.map = binds + [(root, "")]
    place.roots = [root]
    place.enter = place.outside = enter(root, binds)
    place.script = ["python3"] if package.path.endswith(".py") else ["sh"]
    place.work, place.cumu = "/opt/work", "/opt/cumu-build/bin/cumu"
    place.env = environment(package, build, folder)
    place.env.update({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/opt/work/home",
                      "CUMU_CACHE_DIR": "/opt/work/cache", "PYTHONPYCACHEPREFIX": "/opt/work/pycache",
                      "PYTHONPATH": "/opt/frameworks/lib", "LC_ALL": "C.UTF-8",
                      **own_variables(package)})
    place.version = enter_run(root, ["dpkg-query", "-W", "-f", "${Version}", debs[0]])
    return place


def install_empty(root, name, version):
    """A package without files, for one that others name but that shall not be had: a driver, a downloader."""
    control = os.path.join(root, "opt", "empty", name, "DEBIAN", "control")
    os.makedirs(os.path.dirname(control), exist_ok=True)
    with open(control, "w", encoding="utf-8") as file:
        file.write(f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: nobody <nobody@localhost>\n"
                   "Description: stands for a package that is not installed\n")
    enter_run(root, ["dpkg-deb", "--build", f"/opt/empty/{name}", f"/opt/empty/{name}.deb"])
    enter_run(root, ["dpkg", "-i", f"/opt/empty/{name}.deb"])


def enter(root, binds=()):
    """Words that run a command in the root, in a mount namespace of its own: what is mounted there ends with it."""
    script = "set -e; root=$1; shift; mount --rbind /proc $root/proc; mount --rbind /dev $root/dev; "
    for outside, inside in binds:
        script += f"mkdir -p $root{inside}; mount --rbind '{outside}' $root{inside}; "
    script += 'exec chroot "$root" "$@"'
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "enter", root]


def enter_run(root, command, tries=1):
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8",
           **{k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}}
    resolv = os.path.join(root, "etc/resolv.conf")
    if os.path.exists("/etc/resolv.conf") and not os.path.islink(resolv):
        shutil.copyfile("/etc/resolv.conf", resolv)
    return run(enter(root) + command, " ".join(command[:2]), tries, env=env)


def free_space(base, done):
    """Removes what can be had again until there is space: what pip downloaded, venvs of packages that are done."""
    for folder in [os.path.join(base, "pip-cache")] + [os.path.join(base, name, "venv") for name in done]:
        if shutil.disk_usage(base).free < SPACE:
            shutil.rmtree(folder, ignore_errors=True)


def make(package, build, base, folder, done):
    """Installs a package where it is not yet, and says how to run in that place. Raises Failed with the reason. `done`:
    names of packages whose venvs nobody runs in any more."""
    free_space(base, done)
    free = shutil.disk_usage(base).free
    if free < SPACE:
        raise Failed(f"{free >> 30} GB are free in {base}, {SPACE >> 30} are needed")
    if package.words("apt"):
        return make_root(package, build, base, folder)
    return make_venv(package, build, base, folder)
