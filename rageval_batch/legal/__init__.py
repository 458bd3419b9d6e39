"""The parts of the profile `legal_rag`: questions, outputs, facts, evidence, gaps. The profile has the formulas."""
