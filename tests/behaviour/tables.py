"""Tables of examples: what an interpreter says to a line of a program, as PyTorch says it.

A table (tables/*.txt) has sections `[M7.02] title`, each a small session of its own:

    >>> torch.tensor([1, -2])
    tensor([ 1, -2])
    >>> torch.tensor([1, 2])[5]
    IndexError: out of bounds

Names: torch, np (where a line needs it) and what the section itself defines. What follows a line is its printed output, the repr of its
value, its warnings (`warns UserWarning`) or the class of its exception; after the class may stand words that the message must have.
"""

import contextlib
import glob
import io
import os
import re
import traceback
import warnings

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables")


def paths():
    return sorted(glob.glob(os.path.join(HERE, "*.txt")))


class Section:
    def __init__(self, heading):
        self.heading = heading
        self.items = re.match(r"\[([^\]]*)\]", heading).group(1).split()
        self.examples = []  # [code, expected lines]


def read(path):
    """The sections of a table, and the lines before the first."""
    preface, sections, code_open = [], [], False
    with open(path, encoding="utf-8") as f:
        for line in f.read().split("\n"):
            if re.match(r"\[M\d", line):
                sections.append(Section(line))
            elif not sections:
                preface.append(line)
            elif line.startswith(">>> "):
                sections[-1].examples.append([line[4:], []])
                code_open = True
            elif code_open and line.startswith("..."):
                sections[-1].examples[-1][0] += "\n" + line[4:]
            elif sections[-1].examples:
                code_open = False
                sections[-1].examples[-1][1].append(line)
    for section in sections:
        for example in section.examples:
            while example[1] and not example[1][-1]:
                example[1].pop()
    return preface, sections


def write(path, preface, sections):
    """The inverse of read."""
    lines = list(preface)
    for section in sections:
        lines.append(section.heading)
        for code, said in section.examples:
            first, *rest = code.split("\n")
            lines += [">>> " + first] + [("... " + r).rstrip() for r in rest] + said
        lines.append("")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines).rstrip("\n") + "\n")


def _tidy(text):
    text = text.replace("minitorch", "torch")
    return re.sub(r" at 0x[0-9a-f]+", " at 0x", text)


def _is_numpy_needed(code):
    return re.search(r"\bnp\.", code) is not None


def say(code, names):
    """(lines said, message of the exception or None)."""
    out, message = io.StringIO(), None
    if _is_numpy_needed(code) and "np" not in names:
        import numpy

        names["np"] = numpy
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's, about how PyTorch speaks to it
        try:
            try:
                compiled = compile(code, "<table>", "eval")
            except SyntaxError:
                exec(compile(code, "<table>", "exec"), names)
            else:
                value = eval(compiled, names)
                if value is not None:
                    print(repr(value))
        except Exception as e:
            message = traceback.format_exception_only(type(e), e)[-1]
            message = str(e) or message
            print(type(e).__name__)
    lines = _tidy(out.getvalue()).rstrip("\n").split("\n") if out.getvalue() else []
    return ["warns " + w.category.__name__ for w in caught] + lines, message


def agrees(said, message, expected):
    """Whether what was said is what the table expects."""
    if message is None or not expected:
        return said == expected
    wanted, _, words = expected[-1].partition(": ")
    # The class may be a subclass's name in the table only if it is said so exactly.
    return said[:-1] == expected[:-1] and said[-1] == wanted and words.lower() in message.lower()


def run(torch, section):
    """Examples of the section that say something else: (code, said, message, expected)."""
    names, wrong = {"torch": torch}, []
    for code, expected in section.examples:
        said, message = say(code, names)
        if not agrees(said, message, expected):
            wrong.append((code, said, message, expected))
    names.clear()  # functions of the session hold it, and tensors hold them as hooks
    return wrong
