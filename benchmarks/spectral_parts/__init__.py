"""What benchmarks/spectral.py is made of."""
