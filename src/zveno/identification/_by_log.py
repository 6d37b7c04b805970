"""Passes over all rows, one log after the other or by many workers, with bitwise equal sums.

Rows of one log depend on that log and on earlier choices, never on other logs, and sums of logs are added
from the first to the last. The result does not depend on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate as running
from operator import add

import numpy as np

from .._executor import map_pieces
from ..fit.threads import in_one_thread
from ._covariance import Scores, log_scores, score_sums
from ._estimate import Estimate
from ._preparation import Preparation
from ._problem import Problem
from ._rows import Moments, Reference, Sums, accumulate, log_sums, moments_of, rows_of
from ._series import Recording
from ._survey import Survey
from .model import TorqueModel


@dataclass(frozen=True, eq=False)
class LogPiece:
    """Log for a worker: its recording, and the samples of the logs before it."""

    recording: Recording
    before: int


def moments_by_log(
    problem: Problem, surveyed: Survey, model: TorqueModel, references: tuple[Reference, ...]
) -> Moments:
    """Return the moments of all rows, with the torques of reference models beside."""
    if problem.executor is None:
        rows = rows_of(surveyed.preparation, model, surveyed.rest, surveyed.loads, (0.0,), references)
        return accumulate(model, rows, surveyed.edges)
    common = (_without_logs(surveyed.preparation), model, surveyed.rest, surveyed.loads, references, surveyed.edges)
    sums = map_pieces(partial(_sums, *common), _pieces(surveyed.preparation), executor=problem.executor)
    return moments_of(model, reduce(add, sums))


def exact_moments(surveyed: Survey, model: TorqueModel) -> Moments:
    """Return moments with triangular factors, for nearly dependent columns; always computed in this process."""
    rows = rows_of(surveyed.preparation, model, surveyed.rest, surveyed.loads)
    return accumulate(model, rows, surveyed.edges, exact=True)


def scores_by_log(
    problem: Problem, surveyed: Survey, model: TorqueModel, estimate: Estimate, least: float
) -> Scores:
    """Compute the scatter statistics of the residuals of an estimate; see `score_sums`."""
    if problem.executor is None:
        rows = rows_of(surveyed.preparation, model, surveyed.rest, surveyed.loads[:, :1])
        return score_sums(model, rows, estimate, surveyed.edges, least)
    common = (
        _without_logs(surveyed.preparation),
        model,
        surveyed.rest,
        surveyed.loads[:, :1],
        estimate,
        surveyed.edges,
        least,
    )
    scores = map_pieces(partial(_scores, *common), _pieces(surveyed.preparation), executor=problem.executor)
    return reduce(add, scores)


def _pieces(preparation: Preparation) -> list[LogPiece]:
    samples = [recording.clock.samples for recording in preparation.recordings]
    return [
        LogPiece(Recording(recording.log.portable(), recording.clock), before)
        for recording, before in zip(preparation.recordings, running([0, *samples[:-1]]), strict=True)
    ]


def _without_logs(preparation: Preparation) -> Preparation:
    return replace(preparation, recordings=(), total=preparation.samples, _kept={})


def _of(preparation: Preparation, piece: LogPiece) -> Preparation:
    return replace(preparation, recordings=(piece.recording,), before=piece.before, _kept={})


@in_one_thread
def _sums(
    preparation: Preparation,
    model: TorqueModel,
    rest: np.ndarray,
    loads: np.ndarray,
    references: Sequence[Reference],
    edges: np.ndarray,
    piece: LogPiece,
) -> Sums:
    rows = rows_of(_of(preparation, piece), model, rest, loads, (0.0,), references)
    return log_sums(model, rows, edges, torques=1 + len(references))


@in_one_thread
def _scores(
    preparation: Preparation,
    model: TorqueModel,
    rest: np.ndarray,
    loads: np.ndarray,
    estimate: Estimate,
    edges: np.ndarray,
    least: float,
    piece: LogPiece,
) -> Scores:
    rows = rows_of(_of(preparation, piece), model, rest, loads)
    return log_scores(model, rows, estimate, edges, least)
