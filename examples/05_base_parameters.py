"""Base parameters: which inertial parameters of a robot matter, what they are made of, and what they are good for.

Run it with `python examples/05_base_parameters.py`.
"""

from __future__ import annotations

import numpy as np

import zveno


def main():
    puma = zveno.load("puma560")
    base = puma.base_parameters()
    print(base.summary)
    print("without any effect:", ", ".join(base.without_effect))
    print("the first three:", *base.expressions[:3], sep="\n  ")

    # In the pseudo-inertia of document 000, the expressions are the 36 printed there.
    print(puma.base_parameters(view="pseudo"))

    # Gravity that is a hair off the first axis makes two more parameters visible in principle, hardly in practice.
    for tilt in (0.0, 0.1):
        tilted = puma.base_parameters(gravity=(9.81 * np.sin(tilt), 0.0, -9.81 * np.cos(tilt)))
        print(f"gravity tilted by {tilt} rad: {tilted.rank}, smallest value kept {tilted.gap[0]:.2g}")

    # 36 numbers for the links and 4 for the rotors say as much as 66: torques are the base regressor times these.
    q, v, a = np.random.default_rng(0).normal(size=(3, 1000, 6))
    moving = puma.base_parameters(drives=None)
    torques = moving.regressor(q, v, a) @ moving.values
    print("largest difference to inverse dynamics:", abs(torques - puma.inverse_dynamics(q, v, a)).max())

    with_drives = puma.base_parameters(drives=True)
    print(f"with drives: {with_drives.rank} of {len(with_drives.counted)}; the first: {with_drives.expressions[0]}")


if __name__ == "__main__":
    main()
