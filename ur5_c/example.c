/* Calls ur5_inverse_dynamics once and prints what it returns. */
#include <stdio.h>

#include "ur5.h"

int main(void)
{
    double q_[6] = {0, 0, 0, 0, 0, 0};
    double v_[6] = {0};
    double a_[6] = {0};
    double tau_[6] = {0};
    int i;

    ur5_inverse_dynamics(q_, v_, a_, tau_);
    for (i = 0; i < 6; ++i) {
        printf("%.9g\n", (double)tau_[i]);
    }
    return 0;
}
