"""What checks the signatures' types and shapes: beartype, to which an int is a float as well."""

from beartype import BeartypeConf, beartype

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
