/* Behind the ABI's headers: what begin.h has opened. */
#ifdef __cplusplus
}
#undef _Static_assert
#endif
