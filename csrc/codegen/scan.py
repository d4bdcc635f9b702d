"""Finds out which of the C functions and formulas that the catalog names are written already.

So the build links before all of them are: an entry without its function becomes one without implementation.
"""

import glob
import os
import re

_DEFINITION = re.compile(r"^int (mt_(?:cpu|cuda|impl|view|meta|check)_\w+)\(", re.M)
_FORMULA = re.compile(r"^MT_HD(?:_\w+)? .*\b(?:FN\((\w+)\)|mt_(\w+)_f32)\(|^MT_FROM_LIBRARY\((\w+)\)", re.M)
_REDUCTION = re.compile(r"#define MT_REDUCE_CLASS_(\w+)")


class Sources:
    """Defined functions and formulas below csrc."""

    def __init__(self, folder):
        self.functions, self.formulas, self.reductions = set(), set(), set()
        for path in glob.glob(os.path.join(folder, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as f:
                self._scan_functions(f.read())
        for path in glob.glob(os.path.join(folder, "math", "*.h")):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.formulas.update(name for found in _FORMULA.findall(text) for name in found if name)
            self.reductions.update(_REDUCTION.findall(text))

    def _scan_functions(self, text):
        for match in _DEFINITION.finditer(text):
            depth, at = 1, match.end()
            while at < len(text) and depth:
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
            if text[at : at + 40].lstrip().startswith("{"):
                self.functions.add(match.group(1))

    def has_formula(self, entry):
        if entry.kind == "reduce":
            return entry.formula in self.reductions
        return entry.formula in self.formulas

    def missing_of(self, entry):
        """Names the entry waits for."""
        out = []
        if entry.kind:
            if not self.has_formula(entry):
                out.append("formula %s" % entry.formula)
        if entry.kernel:
            out += [
                n
                for n in ("mt_cpu_" + entry.kernel, "mt_meta_%s" % entry.meta if entry.meta else None)
                if n and n not in self.functions
            ]
        if entry.impl and "mt_impl_" + entry.impl not in self.functions:
            out.append("mt_impl_" + entry.impl)
        if entry.view and "mt_view_" + entry.view not in self.functions:
            out.append("mt_view_" + entry.view)
        return out

    def has_check(self, entry):
        return all("mt_check_" + rule in self.functions for rule in entry.check)

    def has_cuda(self, entry):
        return "mt_cuda_" + entry.kernel in self.functions


class Everything:
    """Takes every function as written."""

    def missing_of(self, entry):
        return []

    def has_check(self, entry):
        return True

    def has_cuda(self, entry):
        return False
