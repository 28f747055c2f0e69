# COLMAP: features and matches of pictures by SiftGPU; beside its own CPU code, by what the pictures are.
# package: COLMAP (pycolmap)
# pip: pycolmap-cuda12 numpy scipy pillow
# cuda: 12
# what: features of three shifted pictures, their matches and how far the pictures are shifted
# check: pycolmap/_core*.so
# cpu: pycolmap's own CPU code
import itertools
import os
import sqlite3
import tempfile

import numpy

import steps
from steps import step

SHIFTS = [(0, 0), (20, 30), (60, 80)]


def pictures(folder, numbers):
    from PIL import Image
    from scipy.ndimage import gaussian_filter
    whole = sum(gaussian_filter(numbers.standard_normal((420, 520)), s) * s for s in (1.5, 3, 6))
    whole = (whole - whole.min()) / (whole.max() - whole.min()) * 255
    for i, (y, x) in enumerate(SHIFTS):
        Image.fromarray(whole[y:y + 320, x:x + 400].astype("u1")).save(os.path.join(folder, f"{i}.png"))


@step(atol=0.01)
def shifts_by_matches(device, numbers):
    """Of each two pictures by their matches, and whether most features have one and nearly all are right."""
    import pycolmap
    out = []
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "base")
        pictures(folder, numbers)
        pycolmap.extract_features(base, folder, device=getattr(pycolmap.Device, device))
        pycolmap.match_exhaustive(base, device=getattr(pycolmap.Device, device))
        with sqlite3.connect(base) as data:
            names = dict(data.execute("select image_id, name from images"))
            place = {names[i]: numpy.frombuffer(d, "f4").reshape(r, c)[:, :2]
                     for i, r, c, d in data.execute("select image_id, rows, cols, data from keypoints")}
            matched = {}
            for pair, rows, cols, found in data.execute("select pair_id, rows, cols, data from matches"):
                second = pair % 2147483647
                match = numpy.frombuffer(found or b"", "u4").reshape(rows, cols)
                matched[names[(pair - second) // 2147483647], names[second]] = match
    for a, b in itertools.combinations(sorted(place), 2):
        match = matched[a, b] if (a, b) in matched else matched[b, a][:, ::-1]
        apart = place[a][match[:, 0]] - place[b][match[:, 1]]
        shift = numpy.median(apart, 0)
        right = (numpy.abs(apart - shift).max(1) < 1.5).mean()
        out += [numpy.round(shift, 1), len(match) > 0.5 * len(place[a]), right > 0.98]
    return tuple(out)


if __name__ == "__main__":
    steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
