"""Find what each name of a program stands for, in any language."""
