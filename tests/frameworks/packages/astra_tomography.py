# ASTRA Toolbox: projections and reconstructions by textures, against its CPU projectors.
# package: ASTRA Toolbox
# pip: astra-toolbox
# cuda: 12
# what: forward and back projection, filtered back projection, SIRT in two dimensions; of three the adjoint's identity
# check: astra/libastra.so.0
# cpu: own
# note: SART_CUDA is wrong: its blocks of 16 x 16 threads multiply one row 16 times (cumu memcheck --tool racecheck says so)
import astra
import numpy

import steps
from steps import step

SIZE = 48


def geometry(numbers):
    image = numpy.zeros((SIZE, SIZE), "f4")
    image[10:36, 14:30] = 1
    image[20:24, 8:40] += numbers.random((4, 32)).astype("f4")
    angles = numpy.linspace(0, numpy.pi, 40, False)
    return image, astra.create_vol_geom(SIZE, SIZE), astra.create_proj_geom("parallel", 1.0, 72, angles)


def sinogram(device, image, volume, rays):
    return astra.create_sino(image, astra.create_projector("cuda" if device == "cuda" else "linear", rays, volume))


@step(rtol=1e-3, atol=1e-2)
def projection(device, numbers):
    return sinogram(device, *geometry(numbers))[1]


def reconstruction(name, rounds, off):
    def run(device, numbers):
        image, volume, rays = geometry(numbers)
        sino, _ = sinogram(device, image, volume, rays)
        config = astra.astra_dict(name + ("_CUDA" if device == "cuda" else ""))
        config["ReconstructionDataId"] = result = astra.data2d.create("-vol", volume)
        config["ProjectionDataId"] = sino
        if device == "cpu":
            config["ProjectorId"] = astra.create_projector("linear", rays, volume)
        if name == "FBP":
            config["option"] = {"FilterType": "Ram-Lak"}
        astra.algorithm.run(astra.algorithm.create(config), rounds)
        return astra.data2d.get(result)
    run.__name__ = name.lower()
    step(rtol=0, largest=off)(run)


reconstruction("BP", 1, 0.05)  # the back projectors of CPU and GPU interpolate differently
reconstruction("FBP", 1, 0.1)
reconstruction("SIRT", 20, 0.1)


def adjoint(kind, *more):
    def run(device, numbers):
        if device == "cpu":
            return numpy.float64(1)
        volume = astra.create_vol_geom(20, 24, 16)
        angles = numpy.linspace(0, 2 * numpy.pi, 30, False)
        rays = astra.create_proj_geom(kind, 1, 1, 26, 36, angles, *more)
        data = numbers.random((16, 20, 24)).astype("f4")
        _, image = astra.create_sino3d_gpu(data, rays, volume)
        _, back = astra.create_backprojection3d_gpu(image, rays, volume)
        return numpy.float64((data * back).sum()) / numpy.float64((image * image).sum())
    run.__name__ = f"adjoint_{kind}"
    step(rtol=0.01)(run)


adjoint("parallel3d")
adjoint("cone", 100, 50)
steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
