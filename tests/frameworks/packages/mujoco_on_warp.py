# MuJoCo Warp: rigid bodies, kernels of its own that Warp compiles, tiles of it with cuSOLVERDx, against MuJoCo.
# package: MuJoCo Warp
# pip: mujoco-warp mujoco warp-lang numpy
# cuda: 12
# what: 100 steps of falling bodies, a double pendulum, a motor and sensors in three worlds; accelerations, forces, places of bodies
# check: warp/bin/*.so
# cpu: (MuJoCo)
import mujoco
import numpy

import steps
from steps import step

SCENE = """<mujoco><option timestep="0.002"/><worldbody><light pos="0 0 3"/><geom type="plane" size="5 5 .1"/>
<body pos="0 0 .5"><freejoint/><geom type="box" size=".1 .2 .3" euler="10 20 30"/></body>
<body pos=".5 0 1"><joint name="a" type="hinge" axis="0 1 0"/><geom type="capsule" size=".05 .3" pos="0.2 0 0"/>
<body pos=".4 0 0"><joint name="b" type="hinge" axis="0 1 0"/><geom type="sphere" size=".1"/></body></body>
<body pos="-.5 0 .2"><freejoint/><geom type="sphere" size=".15"/></body></worldbody>
<actuator><motor joint="a" gear="2"/></actuator><sensor><jointpos joint="b"/><jointvel joint="a"/></sensor></mujoco>"""


def scene():
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    data.ctrl[0] = 0.7
    mujoco.mj_forward(model, data)
    return model, data


def on_device(function):
    """What `function` makes of the scene: of MuJoCo's own, or of Warp's third world."""
    def run(device, numbers):
        model, data = scene()
        if device == "cpu":
            return function(mujoco, model, data, lambda x: numpy.array(x))
        import mujoco_warp
        worlds = mujoco_warp.put_data(model, data, nworld=3)
        return function(mujoco_warp, mujoco_warp.put_model(model), worlds, lambda x: x.numpy()[2])
    run.__name__ = function.__name__
    return run


def stepper(package):
    return package.mj_step if package is mujoco else package.step


@step(rtol=0, atol=1e-4)
@on_device
def motion(package, model, data, read):
    places = []
    for k in range(100):
        stepper(package)(model, data)
        if k % 20 == 19:
            places.append((read(data.qpos), read(data.qvel) / 10))
    return tuple(numpy.concatenate(p) for p in places)


@step(rtol=1e-4, atol=1e-4)
@on_device
def dynamics(package, model, data, read):
    stepper(package)(model, data)
    return tuple(read(x).reshape(-1)
                 for x in (data.qacc_smooth, data.qfrc_bias, data.xpos, data.xmat, data.sensordata))


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
