"""The geometric model that is calibrated: a product of elementary transforms, its kinematics and joint terms."""
