"""Prints a C program that fails unless the structs of _structs.py lie as those of engine.h do."""

import ctypes
import importlib.util
import os

# Of the source tree and alone: the package around it wants its libengine.
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../python/neuroshard_engine/_structs.py")
SPEC = importlib.util.spec_from_file_location("structs", PATH)
structs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(structs)


def main():
    print("#include <neuroshard/engine.h>\n#include <stddef.h>\n#include <stdio.h>")
    fields = 0
    for struct, name in structs.NAMES.items():
        print(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, "{name}");')
        for field, kind in struct._fields_:
            offset = getattr(struct, field).offset
            print(f'_Static_assert(offsetof({name}, {field}) == {offset} && '
                  f'sizeof((({name}*)0)->{field}) == {ctypes.sizeof(kind)}, "{name}.{field}");')
            fields += 1
    print(f'int main(void) {{ puts("{fields} fields of {len(structs.NAMES)} structs lie as the '
          'header has them"); return 0; }')


main()
