/* A file that
   begins with a comment */
# hash
// slashes
job "comments" { # after a brace
  // before an attribute
  type = "batch" // after a value
  /* between */ priority = 40 /* and after */

  meta {
    # nothing = "here"
    url  = "http://example.org/#fragment" # not the fragment
    glob = "/* not a comment */"
  }

  group "g" {
    task "t" {
      driver = "mock"

      config {
        list = [
          "a", # first
          // "b",
          /* "c", */ "d",
        ]

        sum = (1 +
          # inside parentheses
        2)
      }
    }
  }
}
# the end, without a line end
