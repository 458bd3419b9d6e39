"""Work over whole Arrow columns: strings, JSON, text, statistics, values. It knows no profile, file or store."""
