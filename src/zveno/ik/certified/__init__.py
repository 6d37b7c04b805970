"""All solutions of one pose with a proof, in ball arithmetic; needs the extra `exact` (python-flint).

`answer.certified_answer` is `method="certified"`, and `zveno.ik.proof.prove` compares other answers with it.
"""
