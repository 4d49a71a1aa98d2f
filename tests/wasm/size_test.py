"""The page must stay quick to load: the core module, gzip -9, against its budget."""
import gzip
import pathlib
import sys

BUDGET = 150 * 1000  # bytes on the wire

path = pathlib.Path(sys.argv[1])
if not path.is_file():
    sys.exit(f"{path.name} is missing: build the wasm preset first")
raw = path.read_bytes()
packed = len(gzip.compress(raw, compresslevel=9))
print(f"{path.name}: {len(raw)} bytes, {packed} compressed, {BUDGET} allowed")
if packed > BUDGET:
    sys.exit(f"{path.name} is {packed - BUDGET} bytes over its budget")
