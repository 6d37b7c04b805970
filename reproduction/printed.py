"""Numbers that the documents print, by place, each with its row of the table or with the reason why it has none.

A place is the page of our copy (slide for 002) and the formula or the section. 001 came without page breaks and 003
as running text, so that only sections are known.
"""

from __future__ import annotations

NONE = "none: "
"""How a reason begins."""
GIVEN = NONE + "given, and used in the rows of this document"
PRINTED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "000": (
        ("p. 1, footnote", "10 parameters of a link", "“PUMA 560: number”"),
        ("p. 3, theorem", "(N² + N)·5^ν·3^(N−ν)/2 + 3^ν·2^(N−ν) functions", "“Z of five revolute joints”"),
        ("p. 5, (1)", "matrices of A_k, 4×4", "“(1), (2), (3)”"),
        ("p. 9, (12)", "functions of a joint: 5 and 3, 3 and 2", "“(12a), (12b)”"),
        ("p. 14, practical realisation", "2 + Σ (k(k+1)/2 + k + 2), 56 for N = 6", "“auxiliary 4×4 matrices”"),
        ("p. 14, practical realisation", "about 7 kB", "“memory for them”"),
        ("p. 15", "about 150 MB", "“Z of six revolute joints”"),
        ("p. 15", "almost 20 times", "“time of the backward recursion”"),
        ("p. 17, 18, functions", "p = 1 to 10, p = 7 to 10", "“(4)–(6), (13), (14)”"),
        ("p. 18", "four links in memory", NONE + "the author's storage; here Z has at most six joints"),
        ("p. 19", "47118×50", "“Z of five revolute joints”"),
        ("p. 20, table", "α, a and d of six links", "“(1), (2), (3)”"),
        *((f"p. 21, p̃{k}", "coefficients in mm, mm²", f"“p̃{k}”") for k in range(1, 37)),
        ("p. 21", "36 base parameters", "“PUMA 560: number”"),
        ("p. 21", "about 200 ms", "“time of the whole program”"),
    ),
    "001": (
        ("analysis of identifiability", "d2 − d3", "“enter as d_2 − d_3”"),
        ("statements 1 to 3", "zero rows and columns", "“statement 2”"),
        ("(5)", "20 parameters, rank 14", "“model (5): parameters”"),
        ("(5)", "no unidentifiable parameters", "“model (5): unidentifiable”"),
        ("(5)", "four groups", "“model (5): groups”"),
        ("(6)", "14 parameters", "“model (6)”"),
        ("synthesis, (7), (8)", "3 of 7 parameters are redundant", "“(7), (8)”"),
        ("synthesis, step 1", "6, 5 and 3 terms for base and links", "“rules of steps 1–2”"),
        ("synthesis, step 2", "robots of 4 to 7 joints", NONE + "their models are not printed"),
        ("synthesis", "about 30 parameters", "“full pose, 6+4r+2p”"),
        *(("table", f"model {name}", f"“strategy {name}”") for name in ("JL", "BJL", "TJL", "JR", "BJR", "TJR")),
        ("estimation", "N = 6 + 4p + 2r", "“N = 6+4p+2r”"),
        ("joint axes", "4 parameters of a line in space, 4 steps of Stone", NONE + "known before, not results"),
        ("(20)", "25 (r = 6, p = 0, s = 1) and 27 (s = 0)", "“position only (20)”"),
        ("(21)", "6 + 4n − 2p − …", "“(21): N_p”"),
        ("one prismatic joint", "10 and 7 parameters", "“one prismatic joint”"),
        ("one prismatic joint", "its model, and that of its positions", "“its full model”"),
        ("one prismatic joint, steps 1 and 2", "its model of positions", "“its position-only model”"),
        ("(23)", "its relative model", "“its relative form (23)”"),
        ("(22)", "6 fewer: 4r + 2p", "“relative (22)”"),
        ("(24)", "19 and 21 of 30", "“relative, position only (24)”"),
        ("(26), optimal angles", "m = 2: |q_i − q_j| = π", "“m = 2”"),
        ("(26), optimal angles", "m = 3: 2π/3; m = 5: {−120, −90, 0, 90, 120}°", "“(26) Σ cos q”"),
        ("(27)", "(m² − 1)/m", "“(27) for a prismatic joint”"),
        ("(27)", "gain 1.4–1.6", "“gain in accuracy”"),
        ("figure 1", "two curves", "“figure 1”"),
        ("(29)", "7 parameters", "“model (29)”"),
        ("simulation", "a1 = 250 mm, a2 = 160 mm", GIVEN),
        ("simulation", "16 combinations of {0, 30, 60, 90}°, and of ±90° 8 times each", GIVEN),
        ("simulation", "σ = 0.2 mm, 100 experiments", GIVEN),
        ("simulation", "1.8–2.4 times", "“lower errors of the proposed plan”"),
        ("figure 2", "errors of six parameters in 100 experiments", "“the same in 100 simulated experiments”"),
    ),
    "002": (
        ("slide 1", "1974; pp. 65–70", NONE + "the reference of the method"),
        ("slide 1", "matrices of size ≤ 6, O(n)", "“effort is proportional”"),
        ("slide 15", "n = 10 bodies, c = ±0.5/n", "“joint vectors”"),
        ("slide 16", "m = 10, m/n and m/(12 n³)", "“mass{i}”"),
        ("slide 16", "q0 = −1, 10 s", "“the program at q0: q̈1”"),
        ("slide 18", "9.81", "“the program at q0: energy”"),
        ("slides 19 to 33", "no results", NONE + "the regressions are numbers of an independent run"),
    ),
    "003": (
        ("trunk", "5 massless links, 3 prismatic and 3 revolute joints", "“a trunk does not change the motion”"),
        ("index functions", "σ = 1 and 0, d_ij = 1 and 0", "“D: reachability”"),
        ("numbering", "links 1 to 5 of the trunk", "“a trunk does not change the motion”"),
        ("history", "since 1985", NONE + "no result"),
        ("formulas", "no numbers of a mechanism", NONE + "“example tree” has numbers of an independent program"),
    ),
    "004": (
        ("p. 22, (1)", "2J − 2 and J(J − 1)/2 operations", "“additions and multiplications of one encoding”"),
        ("p. 22, (2)", "J(3I + 1) − 1 and 2JI operations", "“additions of decoding (2)”"),
        ("П8", "Θ = 2, 3^J nodes", "“nodes that the decoder”"),
        ("scanning", "0.001 rad, 6.153·10²²", "“numbers of a full scan”"),
        ("example", "s = (1, 1, 1)/√3", "“(10): S − P”"),
        ("example", "P_0 = 916.2691, 112.6498, 1385.9482", "“error of the printed solution”"),
        ("example", "S_0 = 915.8874, 111.8144, 1316.3436", "“|S_0 − P_0| of the example”"),
        ("example", "bounds of q_1 … q_6", "“iterations of the printed dichotomy”"),
        ("figure 2", "d_1 … d_6, a_6", "“figure 2”"),
        ("example", "δP, δS ≤ 0.001 %", "“own ΔP”"),
        ("step 1.2", "Θ = 2, I = 729", "“nodes that the decoder”"),
        ("step 2.4", "γ_1 = 10⁻¹⁵", "“step 2.4”"),
        ("result", "12 iterations", "“iterations of the printed dichotomy”"),
        ("result", "q_1 … q_6", "“error of the printed solution”"),
        ("result", "ΔP = 0.019, 0.0013, 0.0052", "“own ΔP”"),
        ("result", "ΔS = 0.005, 0.006, 0.0105", "“own ΔS”"),
    ),
}
"""Document → (place, what is printed, words of a row in “ ” or a reason)."""
