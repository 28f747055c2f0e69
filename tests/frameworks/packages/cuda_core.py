# cuda-python: the driver's and the runtime's bindings, and cuda.core's programs, streams, events, graphs and memory.
# package: cuda-python (cuda.core)
# pip: cuda-core[cu12] cuda-python==12.9.* nvidia-cuda-nvrtc-cu12 nvidia-nvjitlink-cu12 numpy
# cuda: 12.9
# what: bindings of driver, runtime and NVRTC; cuda.core: Program, Linker, launch, streams, events, graphs, memory
# check: cuda/bindings/*.so cuda/core/*.so cuda/core/*/*.so
# cpu: (NumPy)
import ctypes

import numpy

import steps
from steps import step

SOURCE = r"""
template <typename T> __global__ void scale(T *x, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
extern "C" __global__ void add_one(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}"""


class Cuda:
    """A device and a stream of cuda.core, with copies of arrays to and from memory that the host reads, too."""

    def __init__(self):
        from cuda import core
        self.core = core
        self.device = core.Device()
        self.device.set_current()
        self.stream = self.device.create_stream()

    def module(self, kind="ptx"):
        options = self.core.ProgramOptions(std="c++17", arch="sm_80")
        program = self.core.Program(SOURCE, code_type="c++", options=options)
        return program.compile(kind, name_expressions=("scale<float>", "scale<double>"))

    def array(self, x):
        resource = self.core.LegacyPinnedMemoryResource()
        buffer = resource.allocate(x.nbytes, stream=self.stream)
        view = numpy.from_dlpack(buffer).view(x.dtype)
        view[:] = x
        return buffer, view


@step
def program_and_launch(cuda, numbers):
    x = numbers.standard_normal(3000).astype("f4")
    if not cuda:
        return x * numpy.float32(3)
    kernel = cuda.module().get_kernel("scale<float>")
    buffer, view = cuda.array(x)
    cuda.core.launch(cuda.stream, cuda.core.LaunchConfig(grid=24, block=128), kernel, buffer, numpy.float32(3),
                     numpy.int32(3000))
    cuda.stream.sync()
    return view.copy()


@step
def linker(cuda, numbers):
    x = numbers.standard_normal(500)
    if not cuda:
        return x * 2
    options = cuda.core.ProgramOptions(std="c++17", arch="sm_80", relocatable_device_code=True)
    code = cuda.core.Program("extern \"C\" __device__ double two() { return 2; }", "c++", options).compile("ptx")
    main = cuda.core.Program("extern \"C\" __device__ double two();\nextern \"C\" __global__ void f(double *x)"
                             "{ x[threadIdx.x] *= two(); }", "c++", options).compile("ptx")
    linked = cuda.core.Linker(code, main, options=cuda.core.LinkerOptions(arch="sm_80")).link("cubin")
    buffer, view = cuda.array(x)
    cuda.core.launch(cuda.stream, cuda.core.LaunchConfig(grid=1, block=500), linked.get_kernel("f"), buffer)
    cuda.stream.sync()
    return view.copy()


@step
def events(cuda, numbers):
    if not cuda:
        return True
    options = cuda.core.EventOptions(timing_enabled=True) if hasattr(cuda.core.EventOptions, "timing_enabled") else None
    first = cuda.stream.record(options=options)
    cuda.stream.wait(first)
    cuda.stream.sync()
    return first.is_done


@step
def device_properties(cuda, numbers):
    if not cuda:
        return True, 32
    p = cuda.device.properties
    return p.max_threads_per_block >= 256, p.warp_size


@step
def device_memory(cuda, numbers):
    x = numbers.integers(0, 255, 4096).astype("u1")
    if not cuda:
        return x
    (a, source), (b, target) = cuda.array(x), cuda.array(x * 0)
    between = cuda.device.allocate(4096, stream=cuda.stream)
    between.copy_from(a, stream=cuda.stream)
    between.copy_to(b, stream=cuda.stream)
    cuda.stream.sync()
    return target.copy()


@step
def graphs(cuda, numbers):
    x = numbers.standard_normal(1000).astype("f4")
    if not cuda:
        return x + numpy.float32(1) + 1 + 1
    kernel = cuda.module().get_kernel("add_one")
    buffer, view = cuda.array(x)
    builder = cuda.device.create_graph_builder().begin_building()
    cuda.core.launch(builder, cuda.core.LaunchConfig(grid=8, block=128), kernel, buffer, numpy.int32(1000))
    graph = builder.end_building().complete()
    for _ in range(3):
        graph.launch(cuda.stream)
    cuda.stream.sync()
    return view.copy()


@step
def driver_bindings(cuda, numbers):
    x = numbers.standard_normal(700).astype("f4")
    if not cuda:
        return x + numpy.float32(1)
    from cuda.bindings import driver, nvrtc

    def good(result):
        assert int(result[0]) == 0, result[0]
        return result[1] if len(result) == 2 else result[1:]
    program = good(nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"a.cu", 0, [], []))
    good(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_80"]))
    text = b" " * good(nvrtc.nvrtcGetPTXSize(program))
    good(nvrtc.nvrtcGetPTX(program, text))
    function = good(driver.cuModuleGetFunction(good(driver.cuModuleLoadData(text)), b"add_one"))
    memory = good(driver.cuMemAlloc(x.nbytes))
    good(driver.cuMemcpyHtoD(memory, x.ctypes.data, x.nbytes))
    good(driver.cuLaunchKernel(function, 6, 1, 1, 128, 1, 1, 0, 0, ((memory, 700), (None, ctypes.c_int)), 0))
    got = numpy.empty_like(x)
    good(driver.cuMemcpyDtoH(got.ctypes.data, memory, x.nbytes))
    return got


@step
def runtime_bindings(cuda, numbers):
    x = numbers.integers(0, 9, 1000)
    if not cuda:
        return x, 1
    from cuda.bindings import runtime
    error, memory = runtime.cudaMalloc(x.nbytes)
    got = numpy.empty_like(x)
    kind = runtime.cudaMemcpyKind
    errors = [error, *runtime.cudaMemcpy(memory, x.ctypes.data, x.nbytes, kind.cudaMemcpyHostToDevice),
              *runtime.cudaMemcpy(got.ctypes.data, memory, x.nbytes, kind.cudaMemcpyDeviceToHost)]
    assert all(int(e) == 0 for e in errors), errors
    return got, runtime.cudaGetDeviceCount()[1]


steps.main({"cpu": lambda: None, "cuda": Cuda})
