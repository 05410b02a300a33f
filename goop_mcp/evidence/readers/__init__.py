"""Turn what a host keeps of an agent's work into an `AgentActivity`.

Every reader is written from records of the real host, and names the versions that it was tested
with: another version may mean other things by the same words, so that nothing read from it could be
used as a proof.
"""
