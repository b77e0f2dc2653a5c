"""The parts of the picture that ``millstream.testing.drawing.draw`` puts together."""
