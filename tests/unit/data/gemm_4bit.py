"""Makes gemm_4bit.csv from the installed library's own heuristic.

usage: gemm_4bit.py SITE_PACKAGES/bitsandbytes/backends/cuda/ops.py > gemm_4bit.csv   (0.50.2)

The function is taken out of the file by its name, so neither torch nor a GPU is needed. A row says
for which numbers of input rows M the fused kernel runs: "1-7 16-64", inclusive, up to M = 1600. For
every card and dtype the weights with the fewest and the most elements are kept of each different
answer, so that every branch of the heuristic is met on both sides.
"""
import ast
import sys

CARDS = [(61, 28), (70, 80), (75, 40), (75, 72), (80, 108), (86, 28), (86, 84), (87, 16), (89, 24),
         (89, 60), (89, 128), (90, 132), (90, 78), (100, 148), (110, 20), (120, 36), (120, 170),
         (121, 48)]
DTYPES = {'bfloat16': 'bf16', 'float16': 'f16', 'float32': 'f32'}
OUT = [64, 100, 256, 512, 640, 896, 1000, 1024, 1280, 1536, 1600, 2048, 2304, 2560, 3072, 3136,
       4096, 4864, 5120, 6144, 7168, 8192, 9216, 11008, 14336, 18944, 22016, 28672, 32768, 53248]
IN = [64, 128, 256, 576, 640, 704, 896, 1000, 1024, 1536, 2048, 2304, 2560, 3072, 4096, 4864, 5120,
      6144, 8192, 9216, 11008, 12288, 14336, 18944, 28672, 53248]
MAX_ROWS = 1600


class Torch:
    bfloat16, float16, float32 = DTYPES.values()


def heuristic(path):
    tree = ast.parse(open(path, encoding='utf-8').read())
    name = '_gemm_4bit_use_custom_cuda'
    function = next(node for node in tree.body
                    if isinstance(node, ast.FunctionDef) and node.name == name)
    function.decorator_list = []  # a cache: the card changes here
    card = [0, 0, 0]
    names = {'torch': Torch, '_GEMM_4BIT_CUSTOM_FLOOR_M': 4,
             '_gpu_dispatch_props': lambda index: card}
    exec(compile(ast.Module([function], []), path, 'exec'), names)
    return names[name], card


def fused_rows(choose, dtype, n, k):
    """Ranges of M, with the two conditions that the kernel's caller checks first."""
    ranges = []
    for m in range(1, MAX_ROWS + 1):
        if m > 1536 or k % 64 != 0 or not choose(0, dtype, m, n, k):
            continue
        if ranges and ranges[-1][1] == m - 1:
            ranges[-1][1] = m
        else:
            ranges.append([m, m])
    return ' '.join(f'{first}-{last}' for first, last in ranges)


def main():
    choose, card = heuristic(sys.argv[1])
    print('compute_capability,sm_count,dtype,out_features,in_features,fused_rows')
    for capability, sms in CARDS:
        card[:] = [sms, capability // 10, capability % 10]
        for name, dtype in DTYPES.items():
            answers = {}
            shapes = sorted(((n, k) for n in OUT for k in IN), key=lambda s: s[0] * s[1])
            for n, k in shapes:
                answers.setdefault(fused_rows(choose, dtype, n, k), []).append((n, k))
            for answer, same in answers.items():
                for n, k in dict.fromkeys((same[0], same[-1])):
                    print(f'{capability},{sms},{name},{n},{k},{answer}')


main()
