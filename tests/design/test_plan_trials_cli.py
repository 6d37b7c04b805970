"""The verb `plan` with many starts and simulated calibrations."""

import json

from zveno.cli.app import main


def test_trials_and_starts(capsys, tmp_path):
    words = ["plan", "planar2", "--measurement", "relative_pose", "--n", "6", "--candidates", "40", "--no-refine"]
    more = ["--starts", "2", "--trials", "3", "--on", "threads", "--checkpoint", str(tmp_path / "kept.json")]
    assert main([*words, *more]) == 0
    text = capsys.readouterr().out
    assert "3 simulated calibrations of planar2" in " ".join(text.split())
    main([*words, *more, "--json"])  # goes on from both files
    data = json.loads(capsys.readouterr().out)
    assert len(data["trials"]["errors"]["position"]["after"]) == 3
    assert {file.name for file in tmp_path.iterdir()} == {"kept.json", "kept.trials.json"}
    assert main([*words, "--workers", "2"]) != 0
    assert "nothing to share" in capsys.readouterr().err
