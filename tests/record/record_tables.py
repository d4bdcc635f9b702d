"""Write into the tables of tests/behaviour/tables what PyTorch says: `python tests/record/record_tables.py [TABLE ...]`.

Words after the class of an exception stay where PyTorch's message has them; otherwise the class stands alone and the line is reported.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "behaviour"))
import tables  # noqa: E402
import torch  # noqa: E402


def main(names):
    for path in tables.paths():
        if names and os.path.basename(path)[:-4] not in names:
            continue
        preface, sections = tables.read(path)
        for section in sections:
            scope = {"torch": torch}
            for example in section.examples:
                said, message = tables.say(example[0], scope)
                if not tables.agrees(said, message, example[1]):
                    if example[1]:
                        print(
                            "%s %s\n>>> %s\nwas  %s\nsaid %s"
                            % (path, section.heading, example[0], example[1], said + [message])
                        )
                    example[1][:] = said
        tables.write(path, preface, sections)


if __name__ == "__main__":
    main(sys.argv[1:])
