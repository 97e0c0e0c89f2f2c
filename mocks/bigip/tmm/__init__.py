"""Runs iRules in a real Tcl interpreter, with the commands of TMM provided from Python."""

from mocks.bigip.tmm.interpreter import Commands, Connection, Interpreter
from mocks.bigip.tmm.process import Died
from mocks.bigip.tmm.rules import RuleError, TclError, Unsupported

__all__ = ["Commands", "Connection", "Died", "Interpreter", "RuleError", "TclError", "Unsupported"]
