#!/bin/sh
# An installed tree: it works from any folder, its manual and completion hold, uninstalling leaves nothing; the package.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
export B
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)

B=$B PREFIX=/opt/cumu DESTDIR="$tmp/stage" "$scripts/install" >/dev/null
mv "$tmp/stage/opt/cumu" "$tmp/moved"
check "an installed tree works where it was moved to" 0 '^PASS vectoradd$' -- \
    "$tmp/moved/bin/cumu" run --backend host "$fix/vectoradd"
check "the tool finds its tables there" 0 '^cumu [0-9]+\.[0-9]+$' '^facades .*libcudart\.so\.13' '^CPU side .*libmusa\.so\.1' -- \
    "$tmp/moved/bin/cumu" --version
check "the manual has every verb and option" 0 '^\.SS trace$' '^\.B CUMU_BACKEND$' -- \
    cat "$tmp/moved/share/man/man1/cumu.1"
if command -v man >/dev/null 2>&1 && man --version >/dev/null 2>&1; then
    check "man finds nothing wrong with it" 0 'EXIT STATUS' -- \
        env LC_ALL=C.UTF-8 man --warnings -l "$tmp/moved/share/man/man1/cumu.1"
    absent "man warns of nothing" 'warning'
fi
if command -v bash >/dev/null 2>&1; then
    check "bash completes verbs and options" 0 '^check coverage|^coverage check|^check$' '^--summary$' '^cudaMallocAsync$' -- bash -c '
        . "$1"; COMP_WORDS=(cumu ch) COMP_CWORD=1; _cumu; printf "%s\n" "${COMPREPLY[@]}"
        COMP_WORDS=(cumu trace --su) COMP_CWORD=2; _cumu; printf "%s\n" "${COMPREPLY[@]}"
        COMP_WORDS=("$2" coverage cudaMallocA) COMP_CWORD=2; _cumu; printf "%s\n" "${COMPREPLY[@]}"' - \
        "$tmp/moved/share/bash-completion/completions/cumu" "$tmp/moved/bin/cumu"
fi
B=$B PREFIX=/opt/cumu DESTDIR="$tmp/stage" "$scripts/install" >/dev/null
B=$B PREFIX=/opt/cumu DESTDIR="$tmp/stage" "$scripts/install" remove >/dev/null
check "uninstalling leaves no file" 0 '^0$' -- sh -c 'find "$1" ! -type d | wc -l' - "$tmp/stage"

if command -v dpkg-deb >/dev/null 2>&1; then
    package=$(OUT="$tmp" VERSION=9.9 "$scripts/deb")
    check "the package names what it needs" 0 '^ Depends: .*libc6' '^ Version: 9\.9$' -- dpkg-deb -I "$package"
    dpkg-deb -x "$package" "$tmp/root"
    check "a program runs from the unpacked package" 0 '^PASS vectoradd$' -- \
        "$tmp/root/usr/bin/cumu" run --backend host "$fix/vectoradd"
    if command -v lintian >/dev/null 2>&1; then
        check "lintian is content" 0 -- lintian --allow-root --fail-on error,warning "$package"
    else
        echo "skip lintian is content: no lintian"
    fi
else
    echo "skip the package: no dpkg-deb"
fi
exit "$bad"
