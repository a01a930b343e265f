// Saved by an editor that ends lines with two characters.
job "windows" {
  type = "batch" # comment

  meta {
    a = "1"
  }

  group "g" {
    task "t" {
      driver = "mock"

      config {
        list = [
          "a",
          "b",
        ]
        map = {
          x = 1
          y = 2
        }
      }
    }
  }
}
