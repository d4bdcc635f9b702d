# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small convolutional network on 1,797 handwritten digits of 8 x 8 pixels.

An ordinary PyTorch program: with `import torch` in place of the import below it runs unchanged.
"""

import argparse
import gzip
import json
import os
import time

import minitorch as torch

nn = torch.nn
F = torch.nn.functional
FIRST_STEPS = 20  # steps whose losses are kept one by one
SHADES = " .:-=+*#%@"


class DigitNet(nn.Module):
    """Two convolutions with batch normalisation, each halving the picture, and a fully connected layer."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.output = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.output(x.flatten(1))


def load_digits(dtype):
    """The pictures, of shape (1797, 1, 8, 8) with values from 0 to 1, and their labels."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[int(field) for field in line.split(",")] for line in file])
    return table[:, :64].reshape(-1, 1, 8, 8).to(dtype) / 16, table[:, 64]


def progress(batches, epoch, epochs):
    """The batches, behind a progress bar where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return batches
    return tqdm(batches, desc="epoch %d/%d" % (epoch, epochs), leave=False, disable=None, unit="batch")


def train_epoch(model, optimizer, batches, epoch, epochs):
    """One pass over the training data; the loss of every step."""
    model.train()
    losses = []
    for pictures, labels in progress(batches, epoch, epochs):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def evaluate(model, pictures, labels):
    """Loss, accuracy and predictions on the test data."""
    model.eval()
    with torch.no_grad():
        output = model(pictures)
        guesses = output.argmax(dim=1)
        accuracy = (guesses == labels).sum().item() / len(labels)
        return F.cross_entropy(output, labels).item(), accuracy, guesses


def draw(pictures, labels, guesses, count=4):
    """Prints the first pictures side by side, under each its label and the network's guess."""
    rows = [[] for _ in range(8)]
    for picture in pictures[:count]:
        for row, pixels in zip(rows, picture[0].tolist()):
            row.append("".join([SHADES[int(value * 9.999)] * 2 for value in pixels]))
    for row in rows:
        print("   ".join(row).rstrip())
    captions = [
        ("is %d, guessed %d" % (label, guess)).ljust(16)
        for label, guess in zip(labels[:count].tolist(), guesses[:count].tolist())
    ]
    print("   ".join(captions).rstrip())


def run(epochs, batch_size, lr, seed, dtype):
    """Trains and prints a table; returns the model and a record of the losses."""
    torch.manual_seed(seed)
    pictures, labels = load_digits(dtype)
    order = torch.randperm(len(labels))
    train, test = order[:1437], order[1437:]
    data = torch.utils.data.TensorDataset(pictures[train], labels[train])
    batches = torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True)
    test_pictures, test_labels = pictures[test], labels[test]
    model = DigitNet().to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    record = {"steps": [], "epochs": []}
    print("epoch  train loss  test loss  test accuracy  seconds")
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        losses = train_epoch(model, optimizer, batches, epoch, epochs)
        scheduler.step()
        test_loss, accuracy, guesses = evaluate(model, test_pictures, test_labels)
        train_loss = sum(losses) / len(losses)
        seconds = time.perf_counter() - start
        print("%5d  %10.4f  %9.4f  %12.2f%%  %7.2f" % (epoch, train_loss, test_loss, 100 * accuracy, seconds))
        record["steps"] += losses[: FIRST_STEPS - len(record["steps"])]
        record["epochs"].append({"train_loss": train_loss, "test_loss": test_loss, "accuracy": accuracy})
    print()
    draw(test_pictures, test_labels, guesses)
    return model, record


def main(arguments=None):
    """Reads the options, trains, and writes what was asked for."""
    parser = argparse.ArgumentParser(prog="minitorch.demo", description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--save", metavar="FILE", help="write the trained weights")
    parser.add_argument("--losses", metavar="FILE", help="write the losses as JSON")
    parser.add_argument(
        "--lib", choices=("minitorch", "torch"), default="minitorch", help="library to run with"
    )
    options = parser.parse_args(arguments)
    dtype = getattr(torch, options.dtype)
    print("%s %s, %s" % (torch.__name__, torch.__version__, options.dtype))
    model, record = run(options.epochs, options.batch_size, options.lr, options.seed, dtype)
    if options.save:
        torch.save(model.state_dict(), options.save)
    if options.losses:
        record.update(dtype=options.dtype, seed=options.seed, epochs_run=options.epochs)
        with open(options.losses, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
