#!/bin/sh
# The pages of `cumu trace --format html` and `cumu check --format html`, as a browser without a window shows them.
# shellcheck disable=SC2086 # $trace and $show are words
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

trace="$cumu trace --backend host --format html -o $tmp/trace.html --"
check "a trace is a page" 0 '^PASS pipeline$' -- $trace "$fix/pipeline"
check "which holds what JSON lines hold" 0 '^\{"kind": "call", .*"name": "cudaMalloc"' '^<!doctype html>' -- cat "$tmp/trace.html"
check "and loads nothing" 1 -- grep -nE '(src|href)=|https?:|import |fetch\(' "$tmp/trace.html"
check "a page is one file" 125 'a trace in html is one file' -- "$cumu" trace --format html -o "$tmp/%p.html" -- "$fix/pipeline"
check "and no stream" 125 'format html needs -o FILE' -- "$cumu" trace --format html -- "$fix/pipeline"
"$cumu" check --format html "$fix" >"$tmp/check.html" 2>"$tmp/err" || :
"$cumu" check --format json "$fix" >"$tmp/check.json" 2>"$tmp/err" || :
check "a report is a page" 0 '^<!doctype html>' '"verdict": "will run"' -- cat "$tmp/check.html"
check "and loads nothing" 1 -- grep -nE '(src|href)=|https?:|import |fetch\(' "$tmp/check.html"

browser=
for b in chromium chromium-browser google-chrome; do
    if command -v "$b" >/dev/null 2>&1; then browser=$b; fi
done
if [ -z "$browser" ]; then
    echo "skip what a browser shows: none is here"
    exit "$bad"
fi
# The document that a page's script leaves.
show="env HOME=$tmp $browser --headless --no-sandbox --disable-gpu --user-data-dir=$tmp/profile --dump-dom file://$tmp"
lines=$(grep -c '^{"kind"' "$tmp/trace.html")
kernels=$(grep -c '^{"kind": "kernel"' "$tmp/trace.html")
check "the trace is counted" 0 "<p id=\"summary\">$lines events in .* calls .0 failed., $kernels kernels, " '<td>cudaEventSynchronize</td>' -- \
    $show/trace.html
files=$(grep -c '"file": {"path"' "$tmp/check.json")
check "the report, too" 0 "<p id=\"totals\">$files files: " 'class="fails">will not run</b><span>[^<]*sass_only' -- $show/check.html
# Names that look like markup, errors, and a line that was being written when the program was killed.
{
    echo '{"kind": "call", "library": "cudart", "name": "</plaintext></script><script>document.title=1</script>", "process": 1, "thread": 1, "depth": 0, "start": 5, "duration": 2, "arguments": [null, {"at": "0x1", "value": "0x2"}], "result": "cudaErrorInvalidValue"}'
    printf '{"kind": "call", "library": "cud'
} >"$tmp/lines"
sed '/^{"kind"/d' "$tmp/trace.html" | cat - "$tmp/lines" >"$tmp/odd.html"
check "what looks like markup is text" 0 '1 events in .* 1 calls .1 failed., 0 kernels, 0 bytes copied; 1 lines could not be read' \
    '<td>&lt;/plaintext&gt;&lt;/script&gt;&lt;script&gt;document.title=1' '<title>cumu trace</title>' \
    '<tr class="failed">.*NULL, &amp;0x2. = cudaErrorInvalidValue' -- $show/odd.html
sed '/^{"kind"/d' "$tmp/trace.html" >"$tmp/none.html"
check "a trace without a line" 0 '<p id="summary">0 events' -- $show/none.html
head -c -100 "$tmp/check.html" >"$tmp/short.html"
check "a report that ends early says so" 0 '<p id="totals">The report ends early' -- $show/short.html
exit "$bad"
