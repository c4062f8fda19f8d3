"""The main job shown on real input: doctor on machines that are broken in known ways."""
