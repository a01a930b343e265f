job "j" {
  group "g" {
    count = lenght(["a"])

    task "t" {
      driver = "mock"

      env {
        A = upper("a", "b")
        B = upper()
        C = parseint("zz", 10)
        D = element([], 0)
      }
    }
  }
}
