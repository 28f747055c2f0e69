#!/bin/sh
# Runs ffmpeg: the CUDA filters of Debian's build, PTX that it loads by the driver, against its own software scaler.
# package: ffmpeg
# apt: bookworm ffmpeg python3-minimal
# cuda: driver
# what: hwupload, scale_cuda (nearest, bilinear, bicubic, lanczos, formats), yadif_cuda, overlay_cuda, thumbnail_cuda
# check: usr/lib/x86_64-linux-gnu/libavutil.so.57 usr/lib/x86_64-linux-gnu/libavfilter.so.8
# cpu: (ffmpeg's software filters)
mode=$1 folder=$2

# frames NAME FILTER SOURCE...: decoded frames of the filter in $folder/NAME.MODE; the reason in $folder/log
frames() {
    name=$1 filter=$2
    shift 2
    ffmpeg -nostdin -v error -y -init_hw_device cuda=c:0 -filter_hw_device c "$@" -filter_complex "$filter" -frames:v 4 \
        -f rawvideo "$folder/$name.$mode" 2>"$folder/log"
}

# same NAME DISTANCE CPU_FILTER CUDA_FILTER SOURCE...: mean absolute difference of the bytes at most DISTANCE
same() {
    name=$1 most=$2 cpu=$3 cuda=$4
    shift 4
    echo "# running $name"
    if [ "$mode" = cpu ]; then
        ffmpeg -nostdin -v error -y "$@" -filter_complex "$cpu" -frames:v 4 -f rawvideo "$folder/$name.cpu" &&
            echo "ok $name" || echo "not ok $name: ffmpeg's software filter failed"
    elif frames "$name" "$cuda" "$@"; then
        python3 - "$folder/$name.cpu" "$folder/$name.cuda" "$most" "$name" <<'PY'
import sys
a, b = (open(p, "rb").read() for p in sys.argv[1:3])
most, name = float(sys.argv[3]), sys.argv[4]
mean = sum(abs(x - y) for x, y in zip(a, b)) / max(len(a), 1)
if len(a) != len(b) or not a:
    print(f"not ok {name}: {len(b)} bytes, want {len(a)}")
elif mean > most:
    print(f"not ok {name}: the mean difference is {mean:.2f}, at most {most} is expected")
else:
    print(f"ok {name}")
PY
    else
        echo "not ok $name: $(grep -v '^cumu: ' "$folder/log" | head -n 1)"
    fi
}

source="-f lavfi -i testsrc2=size=128x96:rate=5"
up='format=yuv420p,hwupload' down='hwdownload,format=yuv420p'
cpu_scale='format=yuv420p,scale=64:64:flags'
# shellcheck disable=SC2086
{
    same upload 0 "format=yuv420p" "$up,$down" $source
    same scale_nearest 4 "$cpu_scale=neighbor" "$up,scale_cuda=64:64:interp_algo=nearest,$down" $source
    same scale_bilinear 8 "$cpu_scale=bilinear" "$up,scale_cuda=64:64:interp_algo=bilinear,$down" $source
    same scale_bicubic 8 "$cpu_scale=bicubic" "$up,scale_cuda=64:64:interp_algo=bicubic,$down" $source
    same scale_lanczos 8 "$cpu_scale=lanczos" "$up,scale_cuda=64:64:interp_algo=lanczos,$down" $source
    same scale_up 3 "format=yuv420p,scale=256:192:flags=bicubic" "$up,scale_cuda=256:192:interp_algo=bicubic,$down" $source
    same formats 1 "format=nv12" "$up,scale_cuda=format=nv12,hwdownload,format=nv12" $source
    same yadif 1 "format=yuv420p,yadif" "$up,yadif_cuda,$down" $source
    same overlay 1 "color=red:16x16:r=5,format=yuv420p[b];[0:v]format=yuv420p[a];[a][b]overlay=8:8" \
        "color=red:16x16:r=5,format=yuv420p,hwupload[b];[0:v]${up}[a];[a][b]overlay_cuda=8:8,$down" $source
    same thumbnail 3 "format=yuv420p,thumbnail=2" "$up,thumbnail_cuda=2,$down" $source
}
