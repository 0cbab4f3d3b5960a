#!/usr/bin/env python3
"""Sets of many shards that nobody has measured, from a data directory of small ones.

    scripts/joined_sets.py FROM TO COUNT MOST_SHARDS

A network that has seen 15 shards on a device at most says anything of 60, and a search finds where that is
little. A set of several measured sets takes no longer than they do one after the other, less what it takes
to start a kernel for each: that is the cost which TO has of COUNT such sets, of 16 to MOST_SHARDS shards, so
they are too dear rather than too cheap. Two in five have one measured set again and again, as where the rows
of a table are in many blocks. Starting takes what the cheapest set of FROM does. Same FROM, same bytes.
"""

import os
import random
import shutil
import sys

FEWEST_SHARDS = 16
SHARE_OF_ONE_SET = 0.4


def main():
    source, target, count, most = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open(os.path.join(source, "data.txt"), encoding="utf-8") as data:
        sets = [(ids, float(cost)) for ids, cost in (line.split() for line in data)]
    start = min(cost for _, cost in sets)
    draw = random.Random(1)
    os.makedirs(target)
    for name in ("collection.json", "table_configs.json"):
        shutil.copy(os.path.join(source, name), target)
    with open(os.path.join(target, "data.txt"), "w", encoding="utf-8") as data:
        for _ in range(count):
            shards = draw.randint(FEWEST_SHARDS, most)
            again = draw.choice(sets) if draw.random() < SHARE_OF_ONE_SET else None
            taken = []
            while sum(ids.count(",") + 1 for ids, _ in taken) < shards:
                taken.append(again or draw.choice(sets))
            cost = sum(cost for _, cost in taken) - (len(taken) - 1) * start
            data.write(f"{','.join(ids for ids, _ in taken)} {cost:.6f}\n")


if __name__ == "__main__":
    main()
