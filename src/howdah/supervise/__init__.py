"""Processes kept running: what starts them, restarts them, stops them, and asks them how they are.

It knows no worker and no database: a supervisor stays small and has nothing to lose its connection to.
"""
