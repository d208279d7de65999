"""What ``tests.storm.mandates`` is made of: cases, ways to run them, and judges with arithmetic of their own."""
