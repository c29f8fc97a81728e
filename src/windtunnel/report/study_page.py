def write(study): return None
