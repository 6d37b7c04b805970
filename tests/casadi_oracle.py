"""Traced programs as casadi expressions: an independent oracle for derivatives and optima."""

import casadi

from zveno.kernels.program import Op, Program

CASADI = {
    Op.NEG: lambda a: -a,
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.SQRT: casadi.sqrt,
    Op.SIN: casadi.sin,
    Op.COS: casadi.cos,
    Op.TAN: casadi.tan,
    Op.ASIN: casadi.asin,
    Op.ACOS: casadi.acos,
    Op.ATAN: casadi.atan,
    Op.ATAN2: casadi.atan2,
    Op.EXP: casadi.exp,
    Op.LOG: casadi.log,
    Op.TANH: casadi.tanh,
    Op.ABS: casadi.fabs,
    Op.SIGN: casadi.sign,
    Op.FLOOR: casadi.floor,
    Op.MINIMUM: casadi.fmin,
    Op.MAXIMUM: casadi.fmax,
    Op.LESS: casadi.lt,
    Op.LESS_EQUAL: casadi.le,
    Op.EQUAL: casadi.eq,
    Op.AND: casadi.logic_and,
    Op.OR: casadi.logic_or,
    Op.NOT: casadi.logic_not,
    Op.SELECT: casadi.if_else,
}


def in_casadi(program: Program):
    """Inputs and outputs of a program as casadi columns, flat in C order."""
    inputs = [casadi.SX.sym(argument.name, argument.size) for argument in program.inputs]
    values = []
    for op, args, value in zip(program.graph.op, program.graph.args, program.graph.value, strict=True):
        if op == Op.INPUT:
            values.append(inputs[args[0]][int(args[1])])
        elif op == Op.CONST:
            values.append(casadi.SX(value))
        else:
            values.append(CASADI[Op(op)](*[values[a] for a in args if a >= 0]))
    return inputs, [casadi.vertcat(*[values[k] for k in nodes]) for nodes in program.graph.results]
