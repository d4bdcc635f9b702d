"""The graph: its nodes by name, their life and death."""

import gc
import subprocess
import sys
import textwrap
import weakref

import pytest

# What an expression over the tensors of `operands` leaves as its node.
NODES = """
ViewAsComplexBackward0: torch.view_as_complex(r.view(3, 2))
RsubBackward1: 2 - x
MulBackward0: 2 / x
RemainderBackward0: x % 2
RemainderBackward1: x % x.detach()
PowBackward0: x ** 2
PowBackward1: x ** x
PowBackward2: 2 ** x
PowBackward0: x.square()
ClampBackward1: x.clamp(0, 1)
ClampBackward1: x.clamp(min=0)
ClampBackward0: x.clamp(x.detach() - 1, x.detach())
LerpBackward0: x.lerp(x, 0.5)
LerpBackward1: x.lerp(x, x)
MulBackward0: torch.outer(v, v)
SliceBackward0: v[:]
SliceBackward0: v[:100]
AliasBackward0: v[...]
AliasBackward0: x[:, :]
ViewBackward0: v.reshape(-1)
ReshapeAliasBackward0: x.t().reshape(x.t().shape)
ReshapeAliasBackward0: v[::2].reshape(-1)
SqueezeBackward4: v @ v[:, None].expand(len(v), 2)
SumBackward0: x.sum()
MeanBackward0: x.mean()
ProdBackward0: x.prod()
MedianBackward0: x.median()
SumBackward1: x.sum(0)
MeanBackward1: x.mean(0)
ProdBackward1: x.prod(0)
MedianBackward1: x.median(0)[0]
MaxBackward1: x.max()
MinBackward1: x.min()
MaxBackward0: x.max(0)[0]
MinBackward0: x.min(0)[0]
LinalgVectorNormBackward0: x.norm()
LinalgVectorNormBackward0: x.norm(1, 0)
LinalgVectorNormBackward0: x.norm('fro', (0, 1))
LinalgVectorNormBackward0: torch.linalg.norm(x)
LinalgVectorNormBackward0: torch.linalg.vector_norm(x, 3)
VarBackward0: x.var()
VarBackward0: x.var(0)
VarBackward0: x.var(0, correction=0)
StdBackward0: x.std()
StdBackward0: x.std(0, unbiased=False)
DivBackward0: x.nanmean()
PermuteBackward0: x.T
TBackward0: x.t()
TBackward1: x.clone().t_()
ViewBackward0: x.reshape(6)
ViewBackward0: x.flatten()
UnsafeViewBackward0: x.t().reshape(6)
SqueezeBackward0: s.squeeze()
SqueezeBackward1: s.squeeze(0)
SqueezeBackward2: s.squeeze((0, 1))
UnsqueezeBackward0: x[None]
UnsqueezeBackward0: x.unsqueeze(0)
SliceBackward0: x.narrow(0, 0, 1)
SliceBackward0: x.tensor_split(2)[0]
SelectBackward0: x[0]
SliceBackward0: x[0:1]
IndexBackward0: x[torch.tensor([0, 1])]
SplitBackward0: x.split(1)[0]
SplitBackward0: x.chunk(2)[0]
SplitWithSizesBackward0: x.split([1, 1])[0]
CatBackward0: torch.hstack([x, x])
CatBackward0: torch.vstack([x, x])
StackBackward0: torch.cartesian_prod(v, v)
StackBackward0: torch.combinations(v)
ExpandBackward0: torch.meshgrid(v, v, indexing='ij')[0]
ExpandBackward0: torch.broadcast_tensors(v, x)[0]
RepeatBackward0: x.tile(2)
RepeatBackward0: x.repeat(2, 1)
ViewBackward0: x.repeat_interleave(2, 0)
ScatterBackward1: x.scatter(0, i, 2.0)
ScatterBackward0: x.scatter(0, i, x.detach())
ToCopyBackward0: x.double()
ToCopyBackward0: x.to(torch.float16)
ToCopyBackward0: x.to('meta')
CloneBackward0: x.t().contiguous()
CloneBackward0: x.clone()
UnsafeViewBackward0: b @ x.t()
UnsafeViewBackward0: torch.kron(x, x)
ViewBackward0: torch.einsum('ij,kj', x, x)
SelectBackward0: c.real
SelectBackward0: c.imag
ViewAsRealBackward0: torch.view_as_real(c)
LinalgInvExBackward0: q.inverse()
LinalgInvExBackward0: torch.linalg.inv(q)
LinalgSolveExBackward0: torch.linalg.solve(q, q)
LinalgDetBackward0: q.det()
LinalgSlogdetBackward0: q.slogdet()[1]
LinalgCholeskyExBackward0: torch.linalg.cholesky(q)
LinalgSvdBackward0: torch.linalg.svd(q)[1]
LinalgEighBackward0: torch.linalg.eigh(q)[0]
LinalgQrBackward0: torch.linalg.qr(q)[0]
LinalgLstsqBackward0: torch.linalg.lstsq(q, q)[0]
LinalgPinvBackward0: torch.linalg.pinv(q)
FftR2CBackward0: torch.fft.rfft(v)
FftC2CBackward0: torch.fft.fft(c)
FftC2RBackward0: torch.fft.irfft(c)
MmBackward0: torch.matrix_power(q, 3)
HardtanhBackward0: F.relu6(x)
EluBackward0: F.selu(x)
EluBackward0: F.elu(x)
DivBackward0: F.softsign(x)
DivBackward0: F.normalize(x)
SubBackward0: F.tanhshrink(x)
SoftmaxBackward0: F.softmin(x, 0)
SoftmaxBackward0: F.gumbel_softmax(x)
MulBackward0: F.dropout(x)
MmBackward0: F.linear(x, q)
AddmmBackward0: F.linear(x, q, v)
UnsafeViewBackward0: F.linear(b, q)
ViewBackward0: F.linear(b, q, v)
ConvolutionBackward0: F.conv1d(b, w1)
ConvolutionBackward0: F.conv2d(im, w2)
ConvolutionBackward0: F.conv3d(im[None], w3)
ConvolutionBackward0: F.conv_transpose2d(im, w2)
MaxPool2DWithIndicesBackward0: F.max_pool2d(im, 2)
SqueezeBackward1: F.max_pool1d(b, 2)
SqueezeBackward1: F.avg_pool1d(b, 2)
AvgPool2DBackward0: F.avg_pool2d(im, 2)
MeanBackward1: F.adaptive_avg_pool2d(im, 1)
AdaptiveAvgPool2DBackward0: F.adaptive_avg_pool2d(im, 2)
AdaptiveMaxPool2DBackward0: F.adaptive_max_pool2d(im, 2)
Im2ColBackward0: F.unfold(im, 2)
Col2ImBackward0: F.fold(F.unfold(im, 2), (4, 4), 2)
ConstantPadNdBackward0: F.pad(x, (1, 1))
ReflectionPad1DBackward0: F.pad(x, (1, 1), 'reflect')
ReplicationPad2DBackward0: F.pad(im, (1, 1, 1, 1), 'replicate')
CopySlices: F.pad(x, (1, 1), 'circular')
UpsampleNearest2DBackward0: F.interpolate(im, scale_factor=2)
UpsampleNearest2DBackward0: F.interpolate(im, size=8)
UpsampleBilinear2DBackward0: F.interpolate(im, scale_factor=2, mode='bilinear')
NativeBatchNormBackward0: F.batch_norm(im, None, None, training=True)
NativeLayerNormBackward0: F.layer_norm(x, (3,))
NativeGroupNormBackward0: F.group_norm(im, 1)
ViewBackward0: F.instance_norm(im)
NllLossBackward0: F.cross_entropy(x, t)
NllLoss2DBackward0: F.cross_entropy(im, torch.zeros(1, 4, 4, dtype=torch.long))
DivBackward1: F.cross_entropy(x, p)
MeanBackward0: F.l1_loss(x, p)
MeanBackward0: F.kl_div(x, p, reduction='mean')
MeanBackward0: F.margin_ranking_loss(v, v, v.detach())
MeanBackward0: F.hinge_embedding_loss(x, p)
MeanBackward0: F.triplet_margin_loss(x, x + 1, x - 1)
MseLossBackward0: F.mse_loss(x, p)
NormBackward1: F.pairwise_distance(x, x + 1)
CopyBackwards: torch.zeros(2, 3).copy_(x)
ZeroBackward0: x.clone().zero_()
FillBackward2: x.clone().fill_(2.0)
CopySlices: write_row(x.clone())
AsStridedBackward0: written_row(x.clone())
ViewBackward0: write_row(x.clone().view(3, 2)).view(6)
FillBackward3: x.clone().fill_(v.sum())
NegBackward0: x.clone().neg_()
AccumulateGrad: (x * 2).grad_fn.next_functions[0][0]
NotImplemented: x // 2
NotImplemented: torch.floor_divide(x, 2)
NotImplemented: torch.heaviside(x, x)
NotImplemented: 2 % x
ExpBackward0: x.exp()
LogBackward0: x.abs().log()
SinBackward0: x.sin()
SigmoidBackward0: x.sigmoid()
MmBackward0: x.mm(q)
BmmBackward0: b.bmm(b.transpose(1, 2))
MvBackward0: x.mv(v)
DotBackward0: v.dot(v)
CatBackward0: torch.cat([x, x])
StackBackward0: torch.stack([x, x])
GatherBackward0: x.gather(0, i)
IndexSelectBackward0: x.index_select(0, torch.tensor([0]))
ExpandBackward0: v.expand(2, 3)
ViewBackward0: x.view(6)
TransposeBackward0: x.transpose(0, 1)
PermuteBackward0: x.permute(1, 0)
AsStridedBackward0: x.as_strided((2,), (1,))
DiagonalBackward0: x.diagonal()
RollBackward0: x.roll(1, 0)
FlipBackward0: x.flip(0)
SortBackward0: x.sort()[0]
TopkBackward0: x.topk(1)[0]
CumsumBackward0: x.cumsum(0)
WhereBackward0: torch.where(x > 0, x, x)
MaskedFillBackward0: x.masked_fill(x > 0, 2.0)
MaskedSelectBackward0: x.masked_select(x > 0)
EmbeddingBackward0: F.embedding(t, x)
SoftmaxBackward0: x.softmax(0)
LogSoftmaxBackward0: x.log_softmax(0)
ReluBackward0: x.relu()
GeluBackward0: F.gelu(x)
SiluBackward0: F.silu(x)
AddBackward0: x + x
AddBackward0: x + 2
SubBackward0: x - x
DivBackward0: x / 2
NegBackward0: -x
AbsBackward0: x.abs()
UnbindBackward0: x.unbind()[0]
MaximumBackward0: torch.maximum(x, x)
AmaxBackward0: x.amax(0)
LogsumexpBackward0: x.logsumexp(0)
MishBackward0: F.mish(x)
SoftplusBackward0: F.softplus(x)
LeakyReluBackward0: F.leaky_relu(x)
HardtanhBackward0: F.hardtanh(x)
HardswishBackward0: F.hardswish(x)
HardsigmoidBackward0: F.hardsigmoid(x)
PreluKernelBackward0: F.prelu(x, v[:1])
GluBackward0: F.glu(b, 1)
AddmmBackward0: torch.addmm(x, x, q)
BaddbmmBackward0: torch.baddbmm(b, b, q.expand(2, 3, 3))
AddcmulBackward0: torch.addcmul(x, x, x)
AddcdivBackward0: torch.addcdiv(x, x, x)
TrilBackward0: x.tril()
TriuBackward0: x.triu()
CumprodBackward0: x.cumprod(0)
LogcumsumexpBackward0: x.logcumsumexp(0)
CummaxBackward0: x.cummax(0)[0]
IndexAddBackward0: x.index_add(0, torch.tensor([0]), x[:1])
IndexFillBackward0: x.index_fill(0, torch.tensor([0]), 1.0)
IndexPutBackward0: x.clone().index_put_((torch.tensor([0]),), v)
ScatterAddBackward0: x.scatter_add(0, i, x)
ScatterReduceBackward0: x.scatter_reduce(0, i, x, 'sum')
TraceBackward0: q.trace()
KthvalueBackward0: x.kthvalue(1)[0]
ModeBackward0: x.mode()[0]
RenormBackward0: x.renorm(2, 0, 1.0)
CdistBackward0: torch.cdist(x, x)
PdistBackward0: F.pdist(x)
UnfoldBackward0: x.unfold(1, 2, 1)
SmoothL1LossBackward0: F.smooth_l1_loss(x, p)
HuberLossBackward0: F.huber_loss(x, p)
BinaryCrossEntropyBackward0: F.binary_cross_entropy(x.sigmoid(), p)
BinaryCrossEntropyWithLogitsBackward0: F.binary_cross_entropy_with_logits(x, p)
SoftMarginLossBackward0: F.soft_margin_loss(x, p)
NllLossBackward0: F.nll_loss(x, t)
RoundBackward0: x.round()
SignBackward0: x.sign()
FloorBackward0: x.floor()
ErfBackward0: x.erf()
RsqrtBackward0: x.rsqrt()
Atan2Backward0: torch.atan2(x, x)
Log1PBackward0: x.log1p()
Expm1Backward0: x.expm1()
NanToNumBackward0: x.nan_to_num()
SinhBackward0: x.sinh()
LgammaBackward0: x.lgamma()
HypotBackward0: torch.hypot(x, x)
LogaddexpBackward0: torch.logaddexp(x, x)
CopysignBackward0: torch.copysign(x, x)
FmodBackward0: x.fmod(2)
FmodBackward1: x.fmod(x.detach())
XlogyBackward0: torch.xlogy(x, x)
PolarBackward0: torch.polar(x, x)
ComplexBackward0: torch.complex(x, x)
AngleBackward0: x.angle()
ConjBackward0: c.conj()
DivBackward2: torch.div(x, 2, rounding_mode='floor')
FBackward: F_custom(x)
"""


class Operands(dict):
    """Names of the expressions above."""

    def __init__(self, torch):
        def r(*size, **kw):
            return torch.rand(*size, **kw).requires_grad_()

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, t):
                return t * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        def write_row(t):
            t[0].mul_(2)
            return t

        def written_row(t):
            row = t[0]
            row.mul_(2)
            return row

        torch.manual_seed(0)
        spd = torch.tensor([[3.0, 1, 0], [1, 4, 1], [0, 1, 5]], requires_grad=True)
        super().__init__(
            torch=torch,
            F=torch.nn.functional,
            F_custom=F.apply,
            write_row=write_row,
            written_row=written_row,
            x=r(2, 3),
            v=r(3),
            r=r(6),
            s=r(1, 1, 3),
            b=r(2, 2, 3),
            q=spd,
            c=r(3, dtype=torch.complex64),
            im=r(1, 2, 4, 4),
            w1=r(3, 2, 2),
            w2=r(2, 2, 2, 2),
            w3=r(1, 1, 1, 2, 2),
            i=torch.zeros(1, 3, dtype=torch.long),
            t=torch.tensor([0, 1]),
            p=torch.rand(2, 3),
        )


def rows():
    for line in NODES.strip().split("\n"):
        yield line.split(": ", 1)


@pytest.mark.item("M5.04")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, code", list(rows()), ids=[code for _, code in rows()])
def test_name_of_node(torch, lib_name, name, code):
    try:
        value = eval(code, Operands(torch))
    except (NotImplementedError, AttributeError) as e:
        assert lib_name == "minitorch"
        assert "not implemented" in str(e) or "has no attribute" in str(e)
        pytest.xfail("the op is not there yet: %s" % e)
    node = value.grad_fn if isinstance(value, torch.Tensor) else value
    assert type(node).__name__ == name
    handwritten = ("AccumulateGrad", "CopySlices", "CopyBackwards", "NotImplemented")
    assert node.name() == ("torch::autograd::" + name if name in handwritten else name)
    assert isinstance(node, torch.autograd.graph.Node)


@pytest.mark.item("M5.01")
@pytest.mark.minitorch_only(reason="asks the allocator of minitorch")
def test_tensor_without_gradient_has_no_metadata(torch):
    def bytes_of(make):
        keep = [make() for _ in range(100)]  # pools are filled
        before = torch._C._testing.alloc_stats()["live_blocks"]
        keep = keep + [make() for _ in range(100)]
        return torch._C._testing.alloc_stats()["live_blocks"] - before

    plain = bytes_of(lambda: torch.ones(1))
    assert bytes_of(lambda: torch.ones(1, requires_grad=False)) == plain
    x = torch.ones(1)
    assert x.grad is None and x._backward_hooks is None and x.output_nr == 0 and x.is_leaf
    assert not x.requires_grad_(False).requires_grad


def chain(torch, n):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(n):
        y = y + 1
    return x, y


@pytest.mark.item("M5.11")
def test_long_chain_is_freed(torch):
    x, y = chain(torch, 200000)
    gone = weakref.ref(x)
    del x, y
    assert gone() is None
    x, y = chain(torch, 150000)
    y.backward()
    assert x.grad.item() == 1
    gone = weakref.ref(x)
    del x, y
    assert gone() is None


@pytest.mark.item("M5.11")
def test_long_graph_of_complicated_shape_is_freed(torch):
    """Every node leads to two earlier ones."""
    torch.manual_seed(1)
    x = torch.ones(1, requires_grad=True)
    window = [x, x]
    for i in range(60000):
        new = window[0] * 0.5 + window[1] * 0.5
        window = [window[1], new] if i % 3 else [window[0], new]
    (x2,) = torch.autograd.grad(window[1], x, retain_graph=True)
    assert x2.item() == pytest.approx(1, rel=1e-3)
    gone = weakref.ref(x)
    del x, window, new
    assert gone() is None


@pytest.mark.item("M5.11")
def test_long_chain_of_functions_is_freed(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(150000):
        y = Same.apply(y)
    del y
    y = x
    for _ in range(20000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1


@pytest.mark.item("M5.11")
def test_long_chain_through_views_and_writes_is_freed(torch):
    x = torch.ones(4, requires_grad=True)
    y = x.clone()
    for _ in range(3000):
        y[:2].mul_(1)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    del y


@pytest.mark.item("M5.12")
def test_collector_in_destructor(torch):
    class Collecting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.tail = Tail()
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    class Tail:
        def __del__(self):
            gc.collect()
            deaths.append(torch.ones(1).add(1).item())

    deaths = []
    y = torch.ones(2, requires_grad=True)
    for _ in range(10):
        y = Collecting.apply(y)
    y.sum().backward()
    del y
    gc.collect()
    assert deaths == [2] * 10


@pytest.mark.item("M5.12")
def test_destructor_runs_a_graph_of_its_own(torch):
    class Holder(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.tail = Tail()
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    class Tail:
        def __del__(self):
            x = torch.ones(3, requires_grad=True)
            (x * 2).sum().backward()
            sums.append(x.grad.sum().item())

    sums = []
    y = Holder.apply(Holder.apply(torch.ones(2, requires_grad=True)))
    y.sum().backward()
    del y
    gc.collect()
    assert sums == [6, 6]


DEADLOCK = """
    import gc, threading, weakref
    import %s as torch

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("on purpose")

    class Later(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.me = ctx  # a cycle: the collector finds it
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    def work():
        for _ in range(20):
            x = torch.ones(10, requires_grad=True)
            y = Bad.apply(Later.apply(Later.apply(x)))
            try:
                y.sum().backward()
            except RuntimeError as e:
                assert "on purpose" in str(e)
            else:
                raise AssertionError
            del x, y
            gc.collect()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    work()
    for t in threads:
        t.join()
    print("done")
"""


@pytest.mark.item("M5.12")
def test_nodes_that_die_after_an_error_do_not_deadlock(torch, lib_name):
    code = textwrap.dedent(DEADLOCK) % lib_name
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.item("M5.05", "M5.46")
def test_one_accumulator_while_it_lives(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    leaf = y.grad_fn.next_functions[0][0]
    assert (x + 1).grad_fn.next_functions[0][0] is leaf
    assert leaf.variable is x and leaf.variable.requires_grad
    leaf.metadata["seen"] = 1
    assert y.grad_fn.next_functions[0][0].metadata == {"seen": 1}
    del leaf
    z = x * 3
    del y
    z.sum().backward()
    assert x.grad.tolist() == [3, 3]
    del z
    again = x * 4
    again.sum().backward()
    assert x.grad.tolist() == [7, 7]


@pytest.mark.item("M5.07")
def test_object_of_a_node_keeps_the_graph(torch):
    x = torch.ones(2, requires_grad=True)
    node = (x * 3).grad_fn
    del x
    gc.collect()
    leaf = node.next_functions[0][0]
    assert leaf.variable.tolist() == [1, 1]
    assert node(torch.ones(2))[0].tolist() == [3, 3]


@pytest.mark.item("M5.07")
def test_sequence_numbers_grow(torch):
    x = torch.ones(2, requires_grad=True)
    a, b = x * 2, x * 3
    assert b.grad_fn._sequence_nr() > a.grad_fn._sequence_nr()
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 5)
    assert a.grad_fn._sequence_nr() == b.grad_fn._sequence_nr() + 5
    (a + b).sum().backward()
    assert x.grad.tolist() == [5, 5]


@pytest.mark.item("M5.26")
def test_gradient_edges_that_are_none(torch):
    edge = torch.autograd.graph.GradientEdge
    x = torch.ones(4, requires_grad=True)
    s = (x * 2).sum()
    for node in (None, 5, "a", x, s.grad_fn.next_functions):
        with pytest.raises(
            RuntimeError, match="GradientEdge's first object must be an autograd.graph.Node but got"
        ):
            torch.autograd.grad(s, [edge(node, 0)])
        with pytest.raises(
            RuntimeError, match="GradientEdge's first object must be an autograd.graph.Node but got"
        ):
            s.backward(inputs=[edge(node, 0)])
        with pytest.raises((RuntimeError, AttributeError)):
            torch.autograd.grad([edge(node, 0)], [x], [torch.ones(4)])
    for number in ("a", None, 1.5):
        with pytest.raises((RuntimeError, TypeError)):
            torch.autograd.grad(s, [edge(s.grad_fn, number)])
    for number in (1, 5, 2**31):
        with pytest.raises(IndexError):
            torch.autograd.grad([edge(s.grad_fn, number)], [x], [torch.ones(())], allow_unused=True)


@pytest.mark.minitorch_only(reason="PyTorch crashes, or reads what is not there")
@pytest.mark.item("M5.26")
def test_gradient_edges_out_of_range(torch):
    edge = torch.autograd.graph.GradientEdge
    x = torch.ones(4, requires_grad=True)
    s = (x * 2).sum()
    leaf = torch.autograd.graph.get_gradient_edge(x).node
    bare = torch.autograd.function.BackwardCFunction()
    for node, number in (
        (s.grad_fn, 1),
        (s.grad_fn, -1),
        (s.grad_fn, 2**32),
        (s.grad_fn, -(2**70)),
        (leaf, 1),
        (bare, 0),
    ):
        for keywords in ({}, {"allow_unused": True}):
            with pytest.raises(RuntimeError, match="output number %d is out of range" % number):
                torch.autograd.grad(s, [edge(node, number)], **keywords)
        with pytest.raises(RuntimeError, match="out of range"):
            s.backward(inputs=[edge(node, number)])
        with pytest.raises(IndexError, match="out of range"):
            torch.autograd.backward([edge(node, number)], [torch.ones(())])


@pytest.mark.item("M5.07")
def test_formulas_keep_their_own_counsel(torch):
    x = torch.ones(2, 2, requires_grad=True)
    for y, names in (
        (torch.cat([x, x]), ["_saved_dim"]),
        (x.softmax(0), ["_raw_saved_result", "_saved_dim", "_saved_result"]),
        (x.split(1)[0], ["_saved_dim", "_saved_self_sym_sizes", "_saved_split_size"]),
        (torch.block_diag(x, x), []),
        (x.double(), []),
        (torch.zeros(2, 2, dtype=torch.float64).copy_(x), []),
    ):
        found = [name for name in dir(y.grad_fn) if name.startswith(("_saved", "_raw"))]
        assert sorted(found) == names


@pytest.mark.item("M5.04")
def test_node_of_a_sum_to_a_number(torch):
    s = torch.ones((), requires_grad=True)
    y = s * torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(y.sum(), s, create_graph=True)
    assert g.shape == () and g.grad_fn.name() == "SumBackward0" and g.item() == 3
