# SPDX-License-Identifier: BSD-3-Clause
"""Places of storages inside files: their names, and how a loaded storage gets to its place
(`map_location`)."""

import minitorch as torch

_package_registry = []


def register_package(priority, tagger, deserializer):
    """register_package(priority, tagger, deserializer)

    Functions that name the place of a storage, `tagger(storage)`, and that bring one there,
    `deserializer(storage, location)`; each returns None for what it does not know.
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort()


def _tag_of(kind):
    def tag(storage):
        device = storage.device
        if device.type != kind:
            return None
        return kind if device.index is None or kind in ("cpu", "meta") else "%s:%d" % (kind, device.index)

    return tag


def _to_cpu(storage, location):
    return storage if location == "cpu" else None


def _to_meta(storage, location):
    return torch.UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def validate_cuda_device(location):
    """validate_cuda_device(location) -> int: the number of an existing CUDA device, or RuntimeError."""
    _, _, number = str(location).partition(":")
    index = int(number) if number else 0
    cuda = getattr(torch, "cuda", None)
    told = "Attempting to deserialize object on "
    if cuda is None or not cuda.is_available():
        raise RuntimeError(
            told + "a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only "
            "machine, "
            "please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if index >= cuda.device_count():
        raise RuntimeError(
            told
            + "CUDA device %d but torch.cuda.device_count() is %d. Please use torch.load with map_location "
            "to "
            "map your storages to an existing device." % (index, cuda.device_count())
        )
    return index


def _to_cuda(storage, location):
    if location != "cuda" and not (location.startswith("cuda") and location[4:5] in tuple(":0123456789")):
        return None
    return storage.to(device=torch.device("cuda", validate_cuda_device(location)))


register_package(10, _tag_of("cpu"), _to_cpu)
register_package(20, _tag_of("cuda"), _to_cuda)
register_package(22, _tag_of("meta"), _to_meta)


def location_tag(storage):
    """location_tag(storage) -> str: the name of the place of a storage."""
    for _, tagger, _ in _package_registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError("don't know how to determine data location of " + torch.typename(storage))


def default_restore_location(storage, location):
    """default_restore_location(storage, location): the storage, brought to that place."""
    for _, _, deserializer in _package_registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        "don't know how to restore data location of %s (tagged with %s)" % (torch.typename(storage), location)
    )


def _get_restore_location(map_location):
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, (str, bytes)):
        return lambda storage, location: default_restore_location(storage, map_location)
    if isinstance(map_location, torch.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage, location):
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def _is_meta_location(map_location):
    if isinstance(map_location, torch.device):
        return map_location.type == "meta"
    return map_location == "meta" if isinstance(map_location, str) else False
