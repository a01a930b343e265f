job "strings" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        format        = format("%s-%03d", "web", 7)
        quoted        = format("%q and %t", "a b", true)
        fixed         = format("%.2f", 3.14159)
        percent       = format("%d%%", 80)
        formatlist    = formatlist("%s.internal", ["a", "b"])
        join          = join(", ", ["x", "y", "z"])
        split         = split(",", "a,b,c")
        characters    = split("", "abc")
        lower         = lower("HeLLo")
        upper         = upper("HeLLo")
        title         = title("hello big world")
        replace       = replace("a-b-c", "-", "_")
        regex_replace = regex_replace("v1.22.3", "v(\\d+)\\.(\\d+).*", "$1-$2")
        strlen        = strlen("héllo")
        strrev        = strrev("stressed")
        substr        = substr("hello world", 6, 5)
        rest          = substr("hello", 1, -1)
        trim          = trim("--x--", "-")
        trimprefix    = trimprefix("release-1.2", "release-")
        trimsuffix    = trimsuffix("app.tar.gz", ".gz")
        trimspace     = trimspace("  padded\t\n")
        chomp         = chomp("line\n")
        indent        = indent(2, "a\nb")
      }
    }
  }
}
