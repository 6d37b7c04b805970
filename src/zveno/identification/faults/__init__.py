"""What is wrong with a recording: faults that torques show, each by a test of its own."""
