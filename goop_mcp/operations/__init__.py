"""What can be asked of the program, one function a question, shared by every surface."""
