"""spatial"""
