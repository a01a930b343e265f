c = "file"
d = "file"
e = "file"
