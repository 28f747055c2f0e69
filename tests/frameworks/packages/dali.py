# DALI: pipelines that prepare images and sounds, their kernels linked in with relocatable device code, against its CPU operators.
# package: DALI
# pip: nvidia-dali-cuda120 numpy
# cuda: 12, static
# what: pipelines of four images or sounds: resizing, rotation, affine maps, crops, flips, colours, blur, erasing, pasting, padding, slices, arithmetic, reductions, normalisation, look-up tables, joining, decibels, spectrograms, mel filters
# check: nvidia/dali/libdali_kernels.so
# cpu: own
import numpy
from nvidia.dali import fn, pipeline_def, types

import steps
from steps import step

MANY = 4


def run(device, data, layout, graph):
    """The four results of a pipeline over `data`; `graph` makes its operators from the batch."""
    @pipeline_def(batch_size=MANY, num_threads=1, device_id=0 if device == "gpu" else None)
    def pipeline():
        batch = fn.external_source(source=lambda: data, batch=True, layout=layout)
        return graph(batch.gpu() if device == "gpu" else batch)
    p = pipeline()
    p.build()
    out = p.run()[0]
    out = out.as_cpu() if device == "gpu" else out
    return tuple(numpy.array(out[i]) for i in range(MANY))


def of_images(name, graph, atol=1e-4):
    """A step over coloured images of different heights. What is interpolated stays real; where a place is added up or
    multiplied out differs by a 20,000th of a pixel."""
    def one(device, numbers):
        data = [numbers.integers(0, 256, (48 + 4 * i, 64, 3), dtype=numpy.uint8) for i in range(MANY)]
        return run(device, data, "HWC", graph)
    one.__name__ = name
    step(one, atol=atol)


def of_sounds(name, graph, largest=1e-6):
    def one(device, numbers):
        data = [numbers.standard_normal(4000 + 100 * i).astype(numpy.float32) for i in range(MANY)]
        return run(device, data, None, graph)
    one.__name__ = name
    step(one, largest=largest)


REAL = {"dtype": types.FLOAT}
of_images("resize", lambda x: fn.resize(x, resize_x=32, resize_y=24, **REAL), atol=1e-2)
of_images("resize_cubic", lambda x: fn.resize(x, resize_x=100, interp_type=types.INTERP_CUBIC, **REAL), atol=1e-2)
of_images("rotate", lambda x: fn.rotate(x, angle=30.0, fill_value=0, **REAL), atol=0.05)
of_images("warp", lambda x: fn.warp_affine(x, matrix=[1.1, .1, 3, -.1, .9, 2], fill_value=7, **REAL), atol=0.05)
of_images("crop_mirror_normalize", lambda x: fn.crop_mirror_normalize(x, crop=(32, 32), mean=[120., 110., 100.], mirror=1,
                                                                      std=[50., 51., 52.], **REAL))
of_images("flip", lambda x: fn.flip(x, horizontal=1, vertical=1))
of_images("color_twist", lambda x: fn.color_twist(x, hue=20.0, saturation=1.3, brightness=0.9, contrast=1.1, **REAL))
of_images("brightness", lambda x: fn.brightness_contrast(x, brightness=1.2, contrast=0.7, **REAL))
of_images("blur", lambda x: fn.gaussian_blur(x, sigma=1.5, **REAL))
of_images("laplacian", lambda x: fn.laplacian(x, window_size=5, **REAL), atol=1e-2)
of_images("mean", lambda x: fn.reductions.mean(x, axes=[0, 1]))
of_images("deviation", lambda x: fn.reductions.std_dev(x, fn.reductions.mean(x, axes=[0, 1]), axes=[0, 1]))
of_images("largest", lambda x: fn.reductions.max(x, axes=[2]))
of_images("total", lambda x: fn.reductions.sum(x, axes=[0, 1, 2]))
of_images("arithmetic", lambda x: (x * 2 + 10) / 3 - fn.cast(x, dtype=types.FLOAT) * x)
of_images("transpose", lambda x: fn.transpose(x, perm=[2, 0, 1]))
of_images("pad", lambda x: fn.pad(x, fill_value=3, shape=(70, 70, 3)))
of_images("slice", lambda x: fn.slice(x, start=(4, 5), shape=(20, 30), axes=(0, 1)))
of_images("erase", lambda x: fn.erase(x, anchor=(5, 5), shape=(10, 12), axes=(0, 1), fill_value=9))
of_images("normalize", lambda x: fn.normalize(x))
of_images("decibels", lambda x: fn.to_decibels(fn.cast(x, dtype=types.FLOAT) + 1))
of_images("one_hot", lambda x: fn.one_hot(fn.reductions.max(x, axes=[0, 1, 2]) / 32, num_classes=8))
of_images("paste", lambda x: fn.paste(x, ratio=1.5, fill_value=(1, 2, 3)))
of_images("join", lambda x: fn.cat(x, x, axis=1))
of_images("stack", lambda x: fn.stack(x, x))
of_images("table", lambda x: fn.lookup_table(x, keys=list(range(256)), values=[float(i * i) for i in range(256)]))
of_sounds("preemphasis", lambda y: fn.preemphasis_filter(y))
of_sounds("spectrogram", lambda y: fn.spectrogram(y, nfft=256, window_length=256, window_step=128))
of_sounds("mel", lambda y: fn.mel_filter_bank(fn.spectrogram(y, nfft=256, window_length=256, window_step=128), nfilter=32))
of_sounds("mfcc", lambda y: fn.mfcc(fn.mel_filter_bank(fn.spectrogram(y, nfft=256, window_length=256, window_step=64), nfilter=32), n_mfcc=13),
          largest=1e-4)
# Windows by a table: of the exact sum the CPU is twice as far off.
of_sounds("resample", lambda y: fn.audio_resample(y, in_rate=16000, out_rate=11025), largest=2e-3)

steps.main({"cpu": lambda: "cpu", "cuda": lambda: "gpu"})
