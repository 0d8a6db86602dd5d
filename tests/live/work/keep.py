# Keep values that Python made on many call paths, in three threads. The interpreter calls
# __add__() from C, so that the C stack is as deep as Python's.
import _thread
import functools
import re


class Deep:
    def __init__(self, n, work):
        self.n, self.work = n, work

    def __add__(self, i):
        if self.n:
            return Deep(self.n - 1, self.work) + i
        return self.work(i)


work = [
    lambda i: bytearray(200 + i % 9),
    lambda i: {f'k{j}': [j, str(j * i)] for j in range(9)},
    lambda i: re.compile(f'(a|b{i})*[c-e]+'),
    lambda i: compile(f'def f{i}(a, *b): return [a + {i} for a in b]', 'f', 'exec'),
    lambda i: sorted(range(30), key=lambda j: (j * i) % 7),
    lambda i: type(f'T{i}', (Deep,), {'f': lambda self: i}),
    lambda i: eval(f'lambda a: (a, {i}, "{i}")'),
    lambda i: (f'text {i}' * 9).upper().split('T'),
    lambda i: functools.partial(print, i, 3 ** (i % 99 + 90)),
    lambda i: frozenset(map(str, range(i % 30))),
]
keep = []


def run(first):
    for i in range(first, 20000, 3):
        # Some stacks are deeper than memtrace keeps them.
        depth = i % 14 if i % 25 else 30
        keep.append(Deep(depth, work[i % len(work)]) + i)


_thread.start_new_thread(run, (1,))
_thread.start_new_thread(run, (2,))
run(0)
