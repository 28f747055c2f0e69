/* Joe's and Kuo's direction numbers inside the library (shim/sobol/LICENSE, scripts/sobol-numbers.py). */
        .section .rodata
        .globl sobol_numbers, sobol_numbers_end
        .hidden sobol_numbers, sobol_numbers_end
sobol_numbers:
        .incbin "shim/sobol/joe-kuo-6.bin"
sobol_numbers_end:
        .section .note.GNU-stack, "", %progbits
