"""Document 002's example: ten rods fall for ten seconds, and the energy says how well they were integrated.

Run it with `python examples/04_chain_of_rods.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zveno
from zveno.simulation import DOP853


def main():
    Path("out").mkdir(exist_ok=True)
    robot = zveno.load("chain(10)")
    q0 = np.zeros(robot.n_q)
    q0[0] = -1.0
    for rtol in (1e-3, 1e-6, 1e-10):
        run = robot.simulate(q0, duration=10.0, integrator=DOP853(rtol))
        print(f"rtol {rtol:g}: {run.n_evaluations} evaluations, energy off by {abs(run.energy_error[-1]):.1e} J")
    assert abs(run.energy_error[-1]) < 1e-11
    run.plot().savefig("out/chain_of_rods.png")
    print("picture: out/chain_of_rods.png")


if __name__ == "__main__":
    main()
