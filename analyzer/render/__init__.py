"""Values, trees and bytes made readable: JSON for programs, lines of styled text for people."""
