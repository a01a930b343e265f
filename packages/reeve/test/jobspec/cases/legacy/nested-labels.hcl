job = {
  "nested" = {
    type = "batch"

    group = {
      "g" = {
        task = {
          "t" = {
            driver = "mock"
          }

          "u" = {
            driver = "mock"
          }
        }
      }
    }
  }
}
