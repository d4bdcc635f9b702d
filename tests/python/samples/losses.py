# SPDX-License-Identifier: BSD-3-Clause
"""Loss layers."""


def namespace(torch):
    """Batches of several ranks, class numbers, indices."""
    names = {
        "x2": torch.randn(4, 6),
        "x3": torch.randn(2, 4, 6),
        "x4": torch.randn(2, 4, 6, 6),
        "x5": torch.randn(2, 4, 4, 6, 6),
        "idx": torch.randint(0, 5, (3, 2)),
        "t": torch.rand(4, 6),
        "c": torch.randint(0, 6, (4,)),
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
    }
    torch.manual_seed(5)
    return names


EXPRESSIONS = [
    "nn.L1Loss()(x2, t)",
    "nn.MSELoss(reduction='sum')(x2, t)",
    "nn.MSELoss(reduction='none')(x2, t[:1])",
    "nn.MSELoss(reduction='x')(x2, t)",
    "nn.SmoothL1Loss(beta=0.5)(x2, t)",
    "nn.SmoothL1Loss(beta=0.0)(x2, t)",
    "nn.HuberLoss(delta=0.3)(x2, t)",
    "nn.NLLLoss()(x2.log_softmax(1), c)",
    "nn.NLLLoss(weight=torch.rand(6), ignore_index=1)(x2, c)",
    "nn.CrossEntropyLoss()(x2, c)",
    "nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.rand(6), ignore_index=2, reduction='sum')(x2, c)",
    "nn.CrossEntropyLoss()(x2, t.softmax(1))",
    "nn.CrossEntropyLoss(size_average=False)(x2, c)",
    "nn.BCELoss()(t, t.round())",
    "nn.BCELoss(weight=torch.rand(6))(t, t.round())",
    "nn.BCELoss()(t, t[:1])",
    "nn.BCEWithLogitsLoss(pos_weight=torch.rand(6))(x2, t)",
    "nn.BCEWithLogitsLoss()(x2, t[:1])",
    "nn.KLDivLoss()(x2.log_softmax(1), t)",
    "nn.KLDivLoss(reduction='batchmean', log_target=True)(x2, t)",
    "nn.PoissonNLLLoss()(x2, t)",
    "nn.PoissonNLLLoss(reduction='q')(x2, t)",
    "nn.GaussianNLLLoss()(x2, t, t)",
    "nn.GaussianNLLLoss(full=True)(x2, t, 0.3)",
    "nn.GaussianNLLLoss()(x2, t, t[:, :2])",
    "nn.HingeEmbeddingLoss()(x2, t.sign())",
    "nn.MultiLabelMarginLoss()(x2, torch.zeros(4, 6, dtype=torch.long))",
    "nn.SoftMarginLoss()(x2, t.sign())",
    "nn.MultiLabelSoftMarginLoss()(x2, t.round())",
    "nn.CosineEmbeddingLoss()(x2, t, torch.ones(4))",
    "nn.MarginRankingLoss()(x2, t, t.sign())",
    "nn.MarginRankingLoss()(x2, t, c)",
    "nn.MultiMarginLoss()(x2, c)",
    "nn.MultiMarginLoss(p=3)(x2, c)",
    "nn.TripletMarginLoss()(x2, t, t + 1)",
    "nn.TripletMarginLoss(margin=-1)(x2, t, t + 1)",
    "nn.TripletMarginWithDistanceLoss(swap=True)(x2, t, t + 1)",
    "nn.CTCLoss()(torch.randn(6, 2, 5).log_softmax(2), torch.tensor([[1, 2], [3, 1]]), "
    "torch.tensor([6, 6]), torch.tensor([2, 2]))",
    "nn.NLLLoss2d()(torch.randn(2, 3, 2, 2), torch.zeros(2, 2, 2, dtype=torch.long))",
    "repr(nn.L1Loss())",
    "repr(nn.MSELoss())",
    "repr(nn.NLLLoss())",
    "repr(nn.CrossEntropyLoss())",
    "repr(nn.BCELoss())",
    "repr(nn.BCEWithLogitsLoss())",
    "repr(nn.SmoothL1Loss())",
    "repr(nn.HuberLoss())",
    "repr(nn.KLDivLoss())",
    "repr(nn.GaussianNLLLoss())",
    "repr(nn.PoissonNLLLoss())",
    "repr(nn.TripletMarginLoss())",
    "repr(nn.MultiMarginLoss())",
]
