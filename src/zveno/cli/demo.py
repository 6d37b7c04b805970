def demo(): "x"
