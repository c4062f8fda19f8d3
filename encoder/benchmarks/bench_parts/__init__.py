"""What benchmarks/bench.py is made of."""
