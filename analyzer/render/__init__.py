"""Formats values, trees and bytes: JSON for programs, lines of styled text for people."""
