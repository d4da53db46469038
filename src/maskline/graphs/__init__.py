"""Trained networks as graphs (ONNX) that run without torch, in float32 or int8."""
