"""All solutions of any arm with six revolute joints in one compiled program."""
