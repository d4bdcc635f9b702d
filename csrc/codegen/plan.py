"""What the emitters of tables share: loop rows, and which kernel serves which key of an op."""

from model import LOOP_DTYPES, POINTWISE

TEMPLATES = {"unary": "unary", "binary": "binary", "compare": "compare", "ternary": "ternary"}
USUAL_N_IN = {"unary": 1, "binary": 2, "compare": 2, "ternary": 3}


class Row:
    """One row of a loop table: a formula and the union of the dtypes of the ops that use it."""

    def __init__(self, entry, index):
        self.entry, self.index = entry, index
        self.formula, self.stem = entry.formula, entry.formula
        self.n_in, self.n_params = len(entry.operands), len(entry.params)
        self.dtypes = set()

    @staticmethod
    def key_of(entry):
        return entry.formula, len(entry.operands), len(entry.params), entry.promote in ("where", "masked")

    @property
    def template(self):
        kind = self.entry.kind
        return kind if kind in TEMPLATES else {1: "unary", 2: "binary"}.get(self.n_in, "ternary")


class Plan:
    def __init__(self, catalog, sources):
        self.catalog = catalog
        self.missing = {e.schema.full_name: sources.missing_of(e) for e in catalog.entries}
        self.checked = {e.schema.full_name for e in catalog.entries if e.check and sources.has_check(e)}
        self.rows = {kind: {} for kind in POINTWISE + ("reduce",)}
        for entry in catalog.entries:
            if entry.kind and self.works(entry):
                rows = self.rows[entry.kind]
                row = rows.setdefault(Row.key_of(entry), Row(entry, len(rows)))
                row.dtypes.update(d for d in entry.dtypes if d in LOOP_DTYPES)
        for rows in self.rows.values():
            stems = {}
            for row in rows.values():
                stems.setdefault(row.formula, []).append(row)
            for formula, same in stems.items():
                for row in same[1:]:
                    row.stem = "%s_%d_%d" % (formula, row.n_in, row.n_params)

    def works(self, entry):
        """Has an implementation that is written."""
        return entry.has_impl and not self.missing[entry.schema.full_name]

    def is_checked(self, entry):
        return entry.schema.full_name in self.checked

    def row(self, entry):
        return self.rows[entry.kind][Row.key_of(entry)]

    def records_itself(self, entry):
        """Has slots of its own for AUTOGRAD and VIEW_INPLACE where its form needs them."""
        return self.works(entry) and not entry.runs_parts

    def writes(self, entry):
        return entry.inplace_ok or entry.out_ok or entry.only_inplace

    def kernels(self, entry):
        """[(key, C function)] in the order of core/keys.def."""
        if not self.works(entry):
            return [(k, "mt_no_impl_kernel") for k in ("CPU", "CUDA", "META")]
        adapter = "mt_adapt_" + entry.c
        if entry.kind:
            if self.is_checked(entry):
                slots = [("CPU", adapter), ("CUDA", adapter), ("META", adapter + "_meta")]
            else:
                shared = "mt_reduce_kernel" if entry.kind == "reduce" else "mt_pointwise_kernel"
                slots = [("CPU", shared), ("CUDA", shared), ("META", "mt_adapt_meta")]
        elif entry.kernel:
            slots = [("CPU", adapter), ("CUDA", adapter)]
            if entry.meta:
                slots.append(("META", adapter + "_meta" if self.is_checked(entry) else "mt_adapt_meta"))
        else:
            slots = [(k, adapter) for k in ("CPU", "CUDA", "META")]
        if self.records_itself(entry):
            if self.writes(entry) or entry.view:
                slots.append(("VIEW_INPLACE", "mt_view_inplace_kernel"))
            if entry.grad in ("formulas", "not_implemented") or self.writes(entry) or entry.view:
                slots.append(("AUTOGRAD", "mt_autograd_kernel"))
        return slots

    def meta(self, entry):
        if not self.works(entry):
            return None
        if entry.kind:
            return "mt_meta_reduce" if entry.kind == "reduce" else "mt_meta_pointwise"
        return "mt_meta_" + entry.meta if entry.kernel and entry.meta else None

    def has_adapter(self, entry):
        return self.works(entry) and (not entry.kind or self.is_checked(entry))
