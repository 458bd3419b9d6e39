"""What a profile is: the schemas, parameters, metrics, gates and functions that every profile declares."""
