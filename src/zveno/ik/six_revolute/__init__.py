"""Every solution of any arm with six revolute joints: one trigonometric polynomial of one joint's angle."""

from .route import solver as solver
