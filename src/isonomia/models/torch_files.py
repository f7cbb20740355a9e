"""PyTorch's files: TorchScript, exported programs, and pickled modules."""

from __future__ import annotations

import pickletools
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isonomia.errors import ModelError, UsageError
from isonomia.models.arguments import checked_batch_size, checked_classes, checked_features, checked_output
from isonomia.models.extras import needed
from isonomia.models.pickles import check_trusted
from isonomia.models.readings import Reading
from isonomia.models.reopened import open_from
from isonomia.models.torch import BATCH, Exported, TorchModel

__all__ = ["open_exported", "open_pickled_module", "open_torchscript", "torch_model"]


def torch_model(
    source: Any,
    *,
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Make a model of a PyTorch module.

    Parameters
    ----------
    source
        A module. An exported program counts as one.
    features
        The columns to give it, in order; all of them otherwise.
    output
        What its numbers stand for: ``"logits"``, ``"probabilities"``, ``"values"`` or ``"labels"``. Unless said, one
        number a row is a value, and several are scores of classes.
    classes
        The classes in the order of the numbers; 0, 1, 2, ... otherwise.
    batch_size
        How many rows it is given at once.
    """
    module = _as_exported(source) if type(source).__name__ == "ExportedProgram" else source
    reading = Reading(checked_output(output), checked_classes(classes))
    return TorchModel(module, checked_features(features), reading, checked_batch_size(batch_size))


def open_torchscript(
    path: Path,
    *,
    device: str = "cpu",
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Open a TorchScript file. Its options are those of :func:`torch_model`, and ``device``: ``"cpu"``, ``"cuda"``.

    A TorchScript file is read by PyTorch's own interpreter and runs no Python. It is a program all the same, so open
    one from a stranger with the care that a program deserves.
    """
    opened = open_from(_script, path, _checked_device(device))
    return torch_model(opened, features=features, output=output, classes=classes, batch_size=batch_size)


def open_exported(
    path: Path,
    *,
    trust_pickle: bool = False,
    device: str = "cpu",
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Open a program written by ``torch.export.save``; ``trust_pickle`` is needed, since PyTorch unpickles parts of it.

    The other options are those of :func:`open_torchscript`.
    """
    check_trusted(path, trust_pickle, "an exported PyTorch program, parts of which are pickled")
    opened = open_from(_exported, path, _checked_device(device))
    return torch_model(opened, features=features, output=output, classes=classes, batch_size=batch_size)


def open_pickled_module(
    path: Path,
    *,
    trust_pickle: bool = False,
    device: str = "cpu",
    features: Sequence[str] | None = None,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    batch_size: int = BATCH,
) -> TorchModel:
    """Open a whole module written by ``torch.save``; ``trust_pickle`` is needed.

    The other options are those of :func:`open_torchscript`. A file that holds weights alone is refused: they are no
    model without the module they belong to.
    """
    where = _checked_device(device)
    if _holds_weights_alone(path):
        raise UsageError(
            f"{path} holds weights (a state_dict) and no module. Build the module, load them into it with "
            "module.load_state_dict(torch.load(...)), and pass the module itself."
        )
    check_trusted(path, trust_pickle, "a pickled PyTorch module")
    opened = open_from(_pickled, path, where)
    return torch_model(opened, features=features, output=output, classes=classes, batch_size=batch_size)


def _checked_device(device: str) -> str:
    torch = needed("torch", "torch", "a PyTorch file")
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise UsageError(f"device should be 'cpu' or 'cuda', but is {device!r}.") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device is {device!r}, but PyTorch finds no CUDA device here. Leave it out, or say 'cpu'.")
    return device


def _script(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "a TorchScript file")
    with warnings.catch_warnings():
        # The format is on its way out; whoever audits a file did not choose it.
        warnings.filterwarnings("ignore", message="`torch.jit.load` is deprecated", category=DeprecationWarning)
        return torch.jit.load(str(path), map_location=device)


def _exported(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "an exported PyTorch program")
    program = torch.export.load(str(path))
    if device != "cpu":
        from torch.export.passes import move_to_device_pass  # type: ignore[import-not-found, unused-ignore]

        program = move_to_device_pass(program, device)
    return _as_exported(program)


def _as_exported(program: Any) -> Exported:
    names = program.graph_signature.user_inputs
    if len(names) != 1:
        raise ModelError(
            f"an exported program should take one tensor, but this one takes {len(names)}: "
            f"{', '.join(map(str, names))}. Export a module that takes one."
        )
    taken = next(node.meta["val"] for node in program.graph.nodes if node.name == names[0])
    shape = tuple(int(size) if isinstance(size, int) else None for size in taken.shape)
    return Exported(program.module(), str(taken.dtype).removeprefix("torch."), shape)


def _holds_weights_alone(path: Path) -> bool:
    """Whether a file of ``torch.save`` names nothing but tensors, found by reading its pickle without running it.

    Of a file from before there were archives, that is found out when it is opened.
    """
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        inner = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        names = _named_in(archive.read(inner))
    return all(name.startswith(("torch ", "torch._utils ", "torch.storage ", "collections ")) for name in names)


def _named_in(pickled: bytes) -> list[str]:
    """What a pickle would import, as ``module name``."""
    texts: list[str] = []
    names = []
    for operation, argument, _ in pickletools.genops(pickled):
        if operation.name == "GLOBAL":
            names.append(str(argument))
        elif operation.name == "STACK_GLOBAL":
            names.append(" ".join(texts[-2:]))
        elif isinstance(argument, str):
            texts.append(argument)
    return names


def _pickled(path: Path, device: str) -> Any:
    torch = needed("torch", "torch", "a PyTorch file")
    found = torch.load(path, map_location=device, weights_only=False)
    if not isinstance(found, torch.nn.Module):
        raise ModelError(f"{path} should hold a PyTorch module, but holds a {type(found).__name__}.")
    return found
