# SPDX-License-Identifier: BSD-3-Clause
"""Neural networks: modules, functions without parameters, initialisation, helpers.

Every class loads its own file at first use; `_CLASSES` says which one.
"""

from minitorch.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)

_CLASSES = {
    "module": "Module",
    "container": "Container Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "linear": "Identity Linear Bilinear LazyLinear",
    "activation": (
        "Threshold ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU "
        "GLU GELU Hardshrink LeakyReLU LogSigmoid Softplus Softshrink MultiheadAttention PReLU Softsign "
        "Tanhshrink Softmin Softmax Softmax2d LogSoftmax"
    ),
    "conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d "
        "LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "pooling": (
        "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d"
        " FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d AdaptiveMaxPool1d "
        "AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d"
    ),
    "batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm"
    ),
    "instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d"
    ),
    "normalization": "LocalResponseNorm CrossMapLRN2d LayerNorm GroupNorm RMSNorm",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d"
        " ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d "
        "ZeroPad2d ZeroPad3d"
    ),
    "sparse": "Embedding EmbeddingBag",
    "rnn": "RNNBase RNN LSTM GRU RNNCellBase RNNCell LSTMCell GRUCell",
    "transformer": (
        "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer"
    ),
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "channelshuffle": "ChannelShuffle",
    "upsampling": "Upsample UpsamplingNearest2d UpsamplingBilinear2d",
    "distance": "PairwiseDistance CosineSimilarity",
    "loss": (
        "L1Loss NLLLoss NLLLoss2d PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss"
        " HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss CrossEntropyLoss"
        " LinearCrossEntropyLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss MarginRankingLoss "
        "MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss"
    ),
}
_FILE_OF = {name: file for file, names in _CLASSES.items() for name in names.split()}
_SUBMODULES = ("functional", "init", "modules", "parallel", "utils")
_PARALLEL = ("DataParallel",)

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", *_FILE_OF, *_PARALLEL]


def __getattr__(name):
    from importlib import import_module

    if name in _FILE_OF:
        value = getattr(import_module("minitorch.nn.modules." + _FILE_OF[name]), name)
    elif name in _PARALLEL:
        value = getattr(import_module("minitorch.nn.parallel"), name)
    elif name in _SUBMODULES:
        value = import_module("minitorch.nn." + name)
    else:
        raise AttributeError("module 'torch.nn' has no attribute %r" % name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_PARALLEL, *_SUBMODULES})


def factory_kwargs(kwargs):
    """The keyword arguments of a factory call out of those of a module: device, dtype, memory_format, and
    what `factory_kwargs` holds."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError("unexpected kwargs %s" % (kwargs.keys() - expected))
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in simple:
        if name in kwargs:
            if name in found:
                raise TypeError("%s specified twice, in **kwargs and in factory_kwargs" % name)
            found[name] = kwargs[name]
    return found
