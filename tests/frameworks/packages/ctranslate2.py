# Runs CTranslate2: its storage views and a small transformer that is converted on the spot, against its CPU back end.
# package: CTranslate2
# pip: ctranslate2 numpy nvidia-cublas-cu12
# cuda: 12
# what: StorageView to and from the device; a random GPT-2-like model: logits, scores, greedy decoding, f16 and int8
# check: ctranslate2.libs/libctranslate2*.so*
# cpu: own
import os
import tempfile

import numpy

import steps
from steps import step


def build(numbers, folder):
    """A decoder of two layers with random weights, written by the package's own classes."""
    from ctranslate2.specs import transformer_spec
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(2, 4, activation=1, pre_norm=True)
    width, words, places = 32, 40, 32

    def weight(*shape):
        return (numbers.standard_normal(shape) * 0.3).astype("f4")

    def norm(s):
        s.gamma, s.beta = numpy.ones(width, "f4"), numpy.zeros(width, "f4")

    def linear(s, out, into):
        s.weight, s.bias = weight(out, into), weight(out)
    d = spec.decoder
    d.scale_embeddings = False
    d.embeddings.weight = weight(words, width)
    d.position_encodings.encodings = weight(places, width)
    d.projection.weight = d.embeddings.weight
    norm(d.layer_norm)
    for layer in d.layer:
        norm(layer.self_attention.layer_norm)
        linear(layer.self_attention.linear[0], 3 * width, width)
        linear(layer.self_attention.linear[1], width, width)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, 4 * width, width)
        linear(layer.ffn.linear_1, width, 4 * width)
    spec.register_vocabulary([f"w{i}" for i in range(words - 3)] + ["<s>", "</s>", "<unk>"])
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.validate()
    spec.optimize()
    spec.save(folder)


def generator(device, numbers, kind):
    import ctranslate2
    folder = os.path.join(tempfile.mkdtemp(), "model")
    os.makedirs(folder)
    build(numbers, folder)
    return ctranslate2.Generator(folder, device=device, compute_type=kind if device == "cuda" else "float32")


PROMPTS = [["<s>", "w3", "w7", "w1"], ["<s>", "w20"]]


def scores(device, numbers, kind):
    found = generator(device, numbers, kind).score_batch(PROMPTS)
    return numpy.concatenate([f.log_probs for f in found])


@step
def storage(device, numbers):
    import ctranslate2
    x = numbers.standard_normal((7, 9)).astype("f4")
    view = ctranslate2.StorageView.from_array(x)
    return numpy.array(view.to_device(getattr(ctranslate2.Device, device)).to_device(ctranslate2.Device.cpu))


@step(rtol=1e-3, atol=1e-3)
def score(device, numbers):
    return scores(device, numbers, "float32")


@step(rtol=3e-2, atol=3e-2)
def score_half(device, numbers):
    return scores(device, numbers, "float16")


@step(rtol=2e-1, atol=3e-1)
def score_int8(device, numbers):
    return scores(device, numbers, "int8_float32")


@step
def decode(device, numbers):
    found = generator(device, numbers, "float32").generate_batch(PROMPTS, max_length=12, sampling_topk=1)
    return [numpy.array(f.sequences_ids[0]) for f in found][0]


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
