"""What training costs: an epoch of the demo, single steps of small networks, optimizer steps.

    python benchmarks/train_step.py [CASE ...]

The program of the demo is read from its file; only the line that imports the library differs.
"""

import importlib.util
import os

from harness import CHECKOUT, Statement, main

CASES = {}
FLOORS = {"demo epoch": 1.5}


def case(name):
    def register(prepare):
        CASES[name] = prepare
        return prepare

    return register


def demo(lib):
    """The names of the demo's program, run with `lib`."""
    path = os.path.join(CHECKOUT, "minitorch", "demo", "digits_cnn.py")
    if not os.path.exists(path):
        package = importlib.util.find_spec("minitorch").submodule_search_locations[0]
        path = os.path.join(package, "demo", "digits_cnn.py")
    with open(path, encoding="utf-8") as file:
        source = file.read().replace("\nimport minitorch as torch\n", "\nimport %s as torch\n" % lib.__name__)
    names = {"__name__": "digits_cnn", "__file__": path}
    exec(compile(source, path, "exec"), names)
    names["progress"] = lambda batches, epoch, epochs: batches
    return names


@case("demo epoch")
def demo_epoch(lib):
    """1,797 digits in batches of 64 from the loader: forward, backward, Adam."""
    names = demo(lib)
    lib.manual_seed(0)
    pictures, labels = names["load_digits"](lib.float32)
    data = lib.utils.data.TensorDataset(pictures, labels)
    batches = lib.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    model = names["DigitNet"]()
    optimizer = lib.optim.Adam(model.parameters(), lr=0.005)
    return lambda: names["train_epoch"](model, optimizer, batches, 1, 1)


@case("loader epoch of the demo")
def loader_epoch(lib):
    pictures, labels = demo(lib)["load_digits"](lib.float32)
    batches = lib.utils.data.DataLoader(
        lib.utils.data.TensorDataset(pictures, labels), batch_size=64, shuffle=True
    )

    def body():
        for _ in batches:
            pass

    return body


def step(lib, model, optimizer, x, loss_of):
    def body():
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()

    return body


def mlp(lib, sizes, batch, optimizer, **options):
    lib.manual_seed(0)
    nn = lib.nn
    layers = []
    for n_in, n_out in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    x, y = lib.randn(batch, sizes[0]), lib.randint(0, sizes[-1], (batch,))
    return step(
        lib,
        model,
        getattr(lib.optim, optimizer)(model.parameters(), **options),
        x,
        lambda output: nn.functional.cross_entropy(output, y),
    )


@case("MLP 2-16-16-2, batch 1, SGD")
def tiny(lib):
    return mlp(lib, (2, 16, 16, 2), 1, "SGD", lr=0.01)


@case("MLP 784-128-10, batch 64, Adam")
def medium(lib):
    return mlp(lib, (784, 128, 10), 64, "Adam", lr=0.001)


@case("MLP 784-512-256-10, batch 128, Adam")
def large(lib):
    return mlp(lib, (784, 512, 256, 10), 128, "Adam", lr=0.001)


@case("demo step, batch 64")
def demo_step(lib):
    names = demo(lib)
    lib.manual_seed(0)
    model = names["DigitNet"]()
    pictures, labels = names["load_digits"](lib.float32)
    x, y = pictures[:64], labels[:64]
    return step(
        lib,
        model,
        lib.optim.Adam(model.parameters(), lr=0.005),
        x,
        lambda output: lib.nn.functional.cross_entropy(output, y),
    )


def optimizer_step(lib, name, **options):
    lib.manual_seed(0)
    parameters = [lib.nn.Parameter(lib.randn(64)) for _ in range(100)]
    for p in parameters:
        p.grad = lib.randn(64)
    return Statement("step()", {"step": getattr(lib.optim, name)(parameters, **options).step})


@case("SGD step, 100 tensors of 64")
def sgd(lib):
    return optimizer_step(lib, "SGD", lr=0.01)


@case("Adam step, 100 tensors of 64")
def adam(lib):
    return optimizer_step(lib, "Adam", lr=0.001)


if __name__ == "__main__":
    raise SystemExit(main("train_step", __doc__.split("\n")[0], FLOORS))
