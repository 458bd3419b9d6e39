"""The parts of the profile `legal_rag`: questions, outputs, facts, evidence and gaps. The formulas are in the profile."""
