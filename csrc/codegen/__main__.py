"""python csrc/codegen OUT          write the generated files into OUT
python csrc/codegen --check        validate only
python csrc/codegen --missing      C functions and formulas that the catalog names and nobody has written
python csrc/codegen --explain OP   print the chain of an op
"""

import argparse
import os
import sys

import check
import emit_adapters
import emit_api
import emit_cuda
import emit_docs
import emit_exprs
import emit_grads
import emit_loops
import emit_methods
import emit_ops
import emit_stubs
import explain
import load
from plan import Plan
from scan import Everything, Sources
from writer import Writer

HERE = os.path.dirname(os.path.abspath(__file__))
CSRC = os.path.dirname(HERE)


def build(ops_folder, sources):
    """(writer, catalog, plan, errors): everything in memory, nothing written."""
    errors, writer = [], Writer()
    entries = load.read_folder(ops_folder, errors)
    catalog = check.build(entries, errors)
    plan = Plan(catalog, sources)
    emit_exprs.emit(writer, catalog, errors)
    emit_grads.emit(writer, catalog, errors)
    if not errors:
        emit_ops.emit(writer, catalog, plan)
        emit_api.emit(writer, catalog)
        emit_adapters.emit(writer, catalog, plan)
        emit_loops.emit(writer, plan)
        emit_cuda.emit(writer, catalog, plan, sources)
        emit_methods.emit(writer, catalog)
        emit_stubs.emit(writer, catalog)
        emit_docs.emit(writer, catalog, plan)
    return writer, catalog, plan, errors


def print_missing(catalog, plan):
    for entry in catalog.entries:
        wanted = list(plan.missing[entry.schema.full_name])
        if entry.check and not plan.is_checked(entry):
            wanted += ["mt_check_" + rule for rule in entry.check]
        if not entry.has_impl:
            wanted.append("an implementation")
        if wanted:
            print("%s: %s: %s" % (entry.where, entry.schema.full_name, ", ".join(wanted)))


def main(argv):
    parser = argparse.ArgumentParser(
        prog="codegen", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", help="folder of the generated files")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--explain", metavar="OP")
    parser.add_argument("--ops", default=os.path.join(CSRC, "ops"), help="folder of the catalog")
    parser.add_argument("--assume-written", action="store_true", help="take every C function as written")
    options = parser.parse_args(argv)
    if not (options.out or options.check or options.missing or options.explain):
        parser.error("give OUT, --check, --missing or --explain OP")
    sources = Everything() if options.assume_written else Sources(CSRC)
    writer, catalog, plan, errors = build(options.ops, sources)
    if errors:
        for where, message in errors:
            print("%s: %s" % (where, message), file=sys.stderr)
        return 1
    if options.missing:
        print_missing(catalog, plan)
    if options.explain:
        text = explain.explain(catalog, plan, options.explain)
        if text is None:
            print("no op is called %s" % options.explain, file=sys.stderr)
            return 1
        print(text)
    if options.out:
        writer.write(options.out)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
