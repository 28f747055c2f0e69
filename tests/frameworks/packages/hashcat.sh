#!/bin/sh
# Runs hashcat: it cracks a known word in several kinds of hashes; its kernels are compiled by NVRTC.
# package: hashcat
# apt: bookworm hashcat hashcat-data
# pip: nvidia-cuda-nvrtc
# cuda: driver, NVRTC 13
# env: LD_LIBRARY_PATH=/opt/pip/nvidia/cu13/lib
# what: self-test and a dictionary for MD5, SHA1, NTLM, SHA256, by its CUDA back end
# check: usr/bin/hashcat
# cpu: no
# limit: 900
folder=$2
printf '%s\n' apple banana cherry hashcat >"$folder/words"
for kind in 0:8743b52063cd84097a65d1633f5c74f5 100:b89eaac7e61417341b710b727768294d0e6a277b \
    1000:b4b9b02e6f09a9bd760f388b67351e2b \
    1400:127e6fbfe24a750e72930c220a8e138275656b8e5d8f48a98c3c92df2caba935; do
    mode=${kind%%:*} hash=${kind#*:}
    echo "# running $mode"
    hashcat -m "$mode" -a 0 --potfile-disable --force --quiet -n 1 -u 1 --session "s$mode" --backend-ignore-opencl \
        "$hash" "$folder/words" >"$folder/out" 2>&1
    if grep -q "^$hash:hashcat" "$folder/out"; then
        echo "ok $mode"
    else
        echo "not ok $mode: $(grep -v '^cumu: ' "$folder/out" | grep . | head -n 1)"
    fi
done
