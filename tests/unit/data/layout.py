"""Makes layout.csv from torch itself (2.13, CPU): how results lie in memory.

usage: layout.py > layout.csv
  contiguous  is_contiguous() of the tensor: 1 or 0
  packed      the strides of neg(tensor), which keeps the order of its dimensions
  view        the strides of tensor.view(other sizes); nothing where only a copy would do
  add         the strides of tensor + other
"""
import random

import torch

random.seed(20)


def words(numbers):
    return ' '.join(map(str, numbers))


def any_tensor(rank):
    sizes = [random.choice((1, 1, 2, 3, 4, 6)) for _ in range(rank)]
    tensor = torch.empty(sizes)
    for _ in range(random.randint(0, 3)):
        kind = random.choice(('permute', 'slice', 'expand', 'swap'))
        dim = random.randrange(rank)
        if kind == 'permute':
            tensor = tensor.permute(random.sample(range(rank), rank))
        elif kind == 'swap':
            tensor = tensor.transpose(dim, random.randrange(rank))
        elif kind == 'slice' and tensor.size(dim) > 1:
            tensor = tensor.narrow(dim, 0, tensor.size(dim) // 2)
        elif kind == 'expand' and tensor.size(dim) == 1:
            shape = list(tensor.shape)
            shape[dim] = random.choice((2, 3))
            tensor = tensor.expand(shape)
    return tensor


def regrouped(sizes):
    """Another shape of as many elements: neighbours merged, a dimension split, ones added."""
    shape = list(sizes)
    for _ in range(random.randint(1, 2)):
        at = random.randrange(len(shape))
        if random.random() < 0.5 and at + 1 < len(shape):
            shape[at:at + 2] = [shape[at] * shape[at + 1]]
        elif len(shape) < 5:
            factor = random.choice([f for f in (1, 2, 3) if shape[at] % f == 0])
            shape[at:at + 1] = [shape[at] // factor, factor]
    return shape


def partner(tensor):
    """Something to add: a permuted copy, or a tensor that is broadcast."""
    shape = list(tensor.shape)
    if random.random() < 0.5:
        order = random.sample(range(len(shape)), len(shape))
        back = [order.index(i) for i in range(len(shape))]
        return torch.empty([shape[i] for i in order]).permute(back)
    kept = shape[random.randrange(len(shape)):]
    return torch.empty([size if random.random() < 0.7 else 1 for size in kept])


def main():
    print('kind,sizes,strides,other_sizes,other_strides,expected')
    seen = set()
    while len(seen) < 600:
        tensor = any_tensor(random.randint(1, 5))
        kind = random.choice(('contiguous', 'packed', 'view', 'view', 'add', 'add'))
        sizes, strides = words(tensor.shape), words(tensor.stride())
        other_sizes = other_strides = ''
        if kind == 'contiguous':
            expected = str(int(tensor.is_contiguous()))
        elif kind == 'packed':
            if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride())):
                continue  # an expanded dimension has no place in the order
            expected = words(torch.neg(tensor).stride())
        elif kind == 'view':
            shape = regrouped(tensor.shape)
            other_sizes = words(shape)
            try:
                expected = words(tensor.view(shape).stride())
            except RuntimeError:
                expected = ''
        else:
            other = partner(tensor)
            other_sizes, other_strides = words(other.shape), words(other.stride())
            expected = words((tensor + other).stride())
        row = ','.join((kind, sizes, strides, other_sizes, other_strides, expected))
        if row not in seen:
            seen.add(row)
            print(row)


main()
