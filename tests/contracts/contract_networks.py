"""PyTorch modules, live and in each of PyTorch's files, and the boosters of XGBoost and LightGBM."""

from __future__ import annotations

import warnings
from functools import cache

import pandas as pd
from contract_cases import Case
from contract_people import CODED, FEATURES, FRAME, LABELS, NUMBERS

from isonomia.models import adapt, load_model

SINGLE = 1e-6
CATEGORIES = FRAME.assign(sex=pd.Categorical(FRAME["sex"]))


def network():
    import torch

    generator = torch.Generator().manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 10)
    return net.eval()


@cache
def of_network():
    import torch

    given = torch.tensor(NUMBERS.to_numpy(), dtype=torch.float32)
    with torch.no_grad():
        score = torch.softmax(network()(given).double(), dim=1).numpy()
    return [["no", "yes"][int(best)] for best in score.argmax(axis=1)], score


READ = {"features": FEATURES, "output": "logits", "classes": ["no", "yes"]}


def torch_live(_):
    from isonomia.models.torch import torch_model

    return torch_model(network().train(), batch_size=50, **READ)


def torchscript(folder):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(network(), torch.zeros(2, 2)).save(folder / "net.pt")
    return load_model(folder / "net.pt", **READ)


def exported(rows):
    def make(folder):
        import torch

        shapes = ({0: torch.export.Dim("rows")},) if rows is None else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(network(), (torch.zeros(rows or 2, 2),), dynamic_shapes=shapes)
            torch.export.save(program, folder / "net.pt2")
        return load_model(folder / "net.pt2", trust_pickle=True, **READ)

    return make


def torch_pickle(folder):
    import torch

    torch.save(network(), folder / "net.pth")
    return load_model(folder / "net.pth", trust_pickle=True, **READ)


@cache
def boosted(library, categories=False):
    frame = CATEGORIES if categories else NUMBERS
    if library == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(n_estimators=4, n_jobs=1, enable_categorical=True).fit(frame, CODED)
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(frame, LABELS)


def of_booster(library, categories=False):
    @cache
    def expected():
        model, frame = boosted(library, categories), CATEGORIES if categories else NUMBERS
        return model.predict(frame), model.predict_proba(frame)

    return expected


def booster_live(library):
    return lambda _: adapt(boosted(library))


def booster_alone(_):
    return adapt(boosted("xgboost").get_booster())


def booster_file(library, name, categories=False, **options):
    def make(folder):
        model = boosted(library, categories)
        (model.booster_ if library == "lightgbm" else model).save_model(folder / name)
        return load_model(folder / name, **options)

    return make


NAMED = {"classes": ["bad", "good"]}
TORCH, XGBOOST, LIGHTGBM = ("torch",), ("xgboost",), ("lightgbm",)
CASES = {
    "PyTorch, live and in training mode": Case(torch_live, True, of_network, SINGLE, TORCH),
    "TorchScript": Case(torchscript, True, of_network, SINGLE, TORCH),
    "exported program": Case(exported(None), True, of_network, SINGLE, TORCH),
    "exported program, five rows at a time": Case(exported(5), True, of_network, SINGLE, TORCH),
    "pickled PyTorch module": Case(torch_pickle, True, of_network, SINGLE, TORCH),
    "XGBoost, live": Case(booster_live("xgboost"), True, of_booster("xgboost"), SINGLE, XGBOOST),
    "XGBoost, a booster": Case(booster_alone, True, of_booster("xgboost"), SINGLE, XGBOOST),
    "XGBoost, JSON": Case(booster_file("xgboost", "m.json"), True, of_booster("xgboost"), SINGLE, XGBOOST),
    "XGBoost, UBJSON": Case(booster_file("xgboost", "m.ubj"), True, of_booster("xgboost"), SINGLE, XGBOOST),
    "XGBoost, categories": Case(
        booster_file("xgboost", "m.json", True), True, of_booster("xgboost", True), SINGLE, XGBOOST
    ),
    "LightGBM, live": Case(booster_live("lightgbm"), True, of_booster("lightgbm"), needs=LIGHTGBM),
    "LightGBM, its file": Case(
        booster_file("lightgbm", "m.txt", **NAMED), True, of_booster("lightgbm"), needs=LIGHTGBM
    ),
    "LightGBM, categories": Case(
        booster_file("lightgbm", "m.txt", True, **NAMED),
        True,
        of_booster("lightgbm", True),
        needs=LIGHTGBM,
    ),
}
