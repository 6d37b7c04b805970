"""Result of `identify`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base_parameters.result import BaseParameters
from ..closed_robot import ClosedRobot
from ..errors import ZvenoError, ZvenoWarning
from ..io.results import registered
from ..io.write import write_model
from ..mechanism import Mechanism
from ..report.description import Description
from ..report.result import Result
from ._closing import closed_at
from ._consistency import PRIOR_SHARE
from ._faults.fault import UNSEEN, Fault
from ._friction import elements_of
from ._output import export_identified, identified_mechanism
from ._survey import Choices
from ._validation import Prediction, Validation, predicted
from ._verdict import Verdict
from .model import FrictionColumn, TorqueFunction, TorqueModel

if TYPE_CHECKING:
    from ..export import Export
    from ..robot import Robot


IdentificationStatus = Literal["usable", "partly usable", "not usable", "not converged"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Identification(Result):
    """Dynamics that explain recorded torques, with their accuracy.

    The identified model is physically consistent: every link is a body that can exist. `base_values` beside it is
    the least-squares estimate, which fits the rows best and may belong to no body.

    Attributes:
        nominal: the robot's mechanism as given. mechanism: with the recorded joints only; all with closed loops.
        joint_names: recorded joints, in the order of all arrays by joint; the motors of closed loops.
        base: base parameters of links, rotors and offsets. kept: those that are columns of the model.
        friction: columns of friction. scales: large velocities of every place of friction.
        torque_names: torque columns of the user.
        names: all parameters of the model, base parameters first.
        values, covariance: consistent estimate, with the prior's share.
        base_values, base_covariance: least squares, covariance with residuals correlated in time; infinite variance
            where the motion does not show a parameter.
        load: parameters that predict the load of load-dependent friction.
        parameters: (n_parameters,) all parameters of links and drives of the consistent estimate.
        unknown_places: places in `parameters` that were estimated; unknown_std, prior_share: standard deviation,
            and the variance left over that of the prior alone: 1 for prior only.
        prior: "cad", "geometry" or "none". repaired: link → fault of the prior's parameters.
        consistency_cost: squared deviation of the consistent from the least-squares estimate, in variances.
        sigma: (n,) standard deviation of the residuals of the fit.
        condition: of the scaled columns.
        converged: whether the consistent estimate was reached.
        choices: preparation of the recordings.
        validation: errors on data not fitted.
        judgement: joints the model may be used for, and reasons against the others.
        notes: further remarks.
        faults: faults of the recordings.
        inputs_hash: hash of the logs and options.
        torques: functions of the user's torque columns; not kept in files.
    """

    nominal: Mechanism
    mechanism: Mechanism
    joint_names: tuple[str, ...]
    base: BaseParameters
    kept: np.ndarray
    friction: tuple[FrictionColumn, ...]
    scales: np.ndarray
    torque_names: tuple[str, ...]
    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    base_values: np.ndarray
    base_covariance: np.ndarray
    load: np.ndarray
    parameters: np.ndarray
    unknown_places: np.ndarray
    unknown_std: np.ndarray
    prior_share: np.ndarray
    prior: str
    repaired: dict[str, str]
    consistency_cost: float
    sigma: np.ndarray
    condition: float
    converged: bool
    choices: Choices
    validation: Validation
    judgement: Verdict
    notes: tuple[str, ...]
    inputs_hash: str
    faults: tuple[Fault, ...] = ()
    torques: Mapping[str, TorqueFunction] = field(default_factory=dict, init=False)

    kind = "identification"

    @property
    def status(self) -> IdentificationStatus:
        """ "usable", "partly usable", "not usable" or "not converged"."""
        if not self.converged:
            return "not converged"
        if self.judgement.usable:
            return "usable"
        return "partly usable" if any(self.judgement.joints) else "not usable"

    @property
    def summary(self) -> str:
        """Conclusion in a sentence or two."""
        counted = f"{len(self.names)} parameters of {len(self.joint_names)} joints"
        others = len(self.nominal.joint_names) - len(self.joint_names)
        follow = "follow from the loops" if self.nominal.loops else "not recorded, taken as locked"
        counted += f" ({others} {follow})" if others else ""
        return f"{self.nominal.name}: {counted}. {self.verdict}"

    @property
    def verdict(self) -> str:
        """Conclusion in words."""
        return self.judgement.text

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_identification

        return describe_identification(self)

    @property
    def unseen(self) -> str:
        """Quantities that torques cannot show, however they are recorded."""
        return UNSEEN

    @property
    def std(self) -> np.ndarray:
        """Standard deviations (p,) of `values`."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def base_std(self) -> np.ndarray:
        """Standard deviations (p,) of `base_values`; infinite where the motion does not show a parameter."""
        return np.sqrt(self.base_covariance.diagonal())

    @property
    def not_identified(self) -> tuple[str, ...]:
        """Parameters that the motion does not show: their values are the prior's, or zero."""
        return tuple(name for name, std in zip(self.names, self.base_std, strict=True) if not np.isfinite(std))

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """Parameters that cannot be left out without a significant misfit."""
        chosen = essential_parameters(self.base_values, self.base_covariance, np.isfinite(self.base_std))
        return tuple(name for name, kept in zip(self.names, chosen, strict=True) if kept)

    @property
    def only_prior(self) -> tuple[str, ...]:
        """Link and rotor parameters that the data hardly determine: they are the prior's."""
        names = self.base.parameter_names
        pairs = zip(self.unknown_places, self.prior_share, strict=True)
        return tuple(names[place] for place, share in pairs if share > PRIOR_SHARE)

    @property
    def fit_cost(self) -> float:
        """Held-out error of the consistent estimate over that of least squares, less 1."""
        least = self.validation.overall["least squares"]
        return self.validation.overall["identified"] / least - 1.0 if least > 0 else 0.0

    @cached_property
    def model(self) -> TorqueModel:
        """Columns of the identified model."""
        missing = [name for name in self.torque_names if name not in self.torques]
        if missing:
            raise ZvenoError(
                f"the torque columns {', '.join(missing)} are functions, which files do not hold",
                remedy="Set result.torques by with_torques({name: function})",
            )
        return TorqueModel(
            self.mechanism,
            self.base,
            self.kept,
            elements_of(self.mechanism, self.closed),
            self.friction,
            self.scales,
            {name: self.torques[name] for name in self.torque_names},
            self.closed,
        )

    @cached_property
    def closed(self) -> ClosedRobot | None:
        """Functions of the nominal mechanism in the motors' velocities, if it has closed loops."""
        return closed_at(self.mechanism, self.base.q0) if self.mechanism.loops else None

    def with_torques(self, torques: Mapping[str, TorqueFunction]) -> Identification:
        """Return the same result with functions of its torque columns, which a file does not hold."""
        from dataclasses import replace

        other = replace(self)
        object.__setattr__(other, "torques", dict(torques))
        return other

    def predict(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, level: float = 0.95) -> Prediction:
        """Predict torques (..., n) of a motion, their standard deviation, and a band that covers a share `level` of
        rows.

        q, v and a are those of the recorded joints, (..., n). The band is that of torques in the identified band
        (`choices.band`): torques as recorded have noise above it.
        """
        return predicted(self, q, v, a, level)

    @cached_property
    def _identified(self) -> tuple[Mechanism, tuple[str, ...]]:
        return identified_mechanism(self)

    @cached_property
    def robot(self) -> Robot:
        """Robot with the consistent inertias and rotors, and as much of the friction as drives can hold."""
        return self._robot(self._identified[0])

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parts of the identified model that `robot` and model files cannot hold."""
        return self._identified[1]

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the identified robot as .urdf or another model file; a `ZvenoWarning` names what it cannot hold."""
        if self.left_out:
            warnings.warn("; ".join(self.left_out), ZvenoWarning, stacklevel=2)
        return write_model(self._identified[0], path)

    def export_c(
        self, directory: str | PathLike[str] = ".", *, single: bool = False, overwrite: bool = False
    ) -> Export:
        """Write C sources of the identified inverse dynamics in base parameters, with all of its friction."""
        return export_identified(self, directory, single=single, force=overwrite)


SIGNIFICANT = 2.0
"""Number of standard deviations from zero within which parameters may be left out."""


def essential_parameters(x: np.ndarray, covariance: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return True for essential parameters, (p,), by backward elimination.

    The parameter nearest to zero, in units of its standard deviation, is set to zero; the others follow as their
    correlation with it says (x − C_k x_k/C_kk, C − C_k C_kᵀ/C_kk: least squares under the constraint), until all
    that are left differ from zero.

    Args:
        x: (p,) estimate.
        covariance: (p, p) of x, with the true scatter of correlated residuals.
        seen: (p,) whether the rows determine a parameter; others are never essential.
    """
    left = np.flatnonzero(seen)
    x, C = x[left].copy(), covariance[np.ix_(left, left)].copy()
    while len(left):
        std = np.sqrt(np.maximum(C.diagonal(), 1e-300))
        k = int(np.argmin(abs(x) / std))
        if abs(x[k]) >= SIGNIFICANT * std[k]:
            break
        others = np.arange(len(left)) != k
        column = C[others, k] / C[k, k]
        x = x[others] - column * x[k]
        C = C[np.ix_(others, others)] - np.outer(column, C[k, others])
        left = left[others]
    out = np.zeros(len(seen), dtype=bool)
    out[left] = True
    return out
