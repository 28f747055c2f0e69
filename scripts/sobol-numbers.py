#!/usr/bin/env python3
# Packs the published direction numbers of Sobol sequences into shim/sobol/joe-kuo-6.bin.
"""sobol-numbers.py new-joe-kuo-6.21201 >shim/sobol/joe-kuo-6.bin: Joe's and Kuo's direction numbers, packed.

The authors' table has a line `dimension degree polynomial m_1 .. m_degree` for each dimension but the first, in
order of the polynomials. What is left of a line is, from the lowest bit of a byte on: the polynomial's inner
coefficients (degree - 1 bits) and, of m_2 to m_degree, m_i / 2 (i - 1 bits): all of them are odd and below 2^i.
"""
import sys

DIMENSIONS = 20000

def main(path):
    bits, at = 0, 0
    with open(path, encoding="ascii") as lines:
        next(lines)
        for number, line in enumerate(lines, 2):
            if number > DIMENSIONS:
                break
            dimension, degree, polynomial, *m = map(int, line.split())
            if dimension != number or len(m) != degree or polynomial >> (degree - 1):
                sys.exit(f"{path}: dimension {number}: not of that table")
            fields = [(polynomial, degree - 1)]
            for i, value in enumerate(m, 1):
                if value % 2 == 0 or value >> i:
                    sys.exit(f"{path}: dimension {number}: m_{i} is {value}")
                fields.append((value >> 1, i - 1))
            for value, width in fields:
                bits |= value << at
                at += width
            while at >= 4096 * 8:
                sys.stdout.buffer.write((bits & ((1 << 4096 * 8) - 1)).to_bytes(4096, "little"))
                bits >>= 4096 * 8
                at -= 4096 * 8
    sys.stdout.buffer.write(bits.to_bytes((at + 7) // 8, "little"))

main(sys.argv[1])
