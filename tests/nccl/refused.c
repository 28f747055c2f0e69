/* What functions answer that are refused and return no status: nothing, in whatever registers. The types through which
 * they are called here put other values there first. */
#include <stdio.h>

struct team {
    int ranks, rank, stride;
};
double nvshmem_double_g(const double *, int);
float nvshmem_float_g(const float *, int);
int nvshmem_int_g(const int *, int);
struct team ncclTeamCft(void *);

int main(void)
{
    double (*d)(const void *, int, double) = (double (*)(const void *, int, double))(void *)nvshmem_double_g;
    float (*f)(const void *, int, float) = (float (*)(const void *, int, float))(void *)nvshmem_float_g;
    struct team (*t)(void *, long, long) = (struct team(*)(void *, long, long))(void *)ncclTeamCft;
    int bad = 0;
    for (int i = 0; i < 3; i++) { /* the first call says so, which leaves other registers than the later ones */
        double number = d(NULL, 0, 42.5);
        float small = f(NULL, 0, 42.5f);
        struct team team = t(NULL, 77, 77);
        if (number != 0 || small != 0 || nvshmem_int_g(NULL, 0) != 0 || team.ranks || team.rank || team.stride) {
            printf("%g, %g, team of %d, %d, %d\n", number, (double)small, team.ranks, team.rank, team.stride);
            bad = 1;
        }
    }
    puts(bad ? "FAIL" : "PASS refused");
    return bad;
}
