/* All exported functions of ur5. */
#ifndef UR5_H
#define UR5_H

#include "ur5_inverse_dynamics.h"
#include "ur5_gravity_torque.h"
#include "ur5_forward_kinematics.h"
#include "ur5_jacobian.h"
#include "ur5_forward_dynamics.h"

#endif
