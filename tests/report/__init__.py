"""Tests of reports without the diary."""
