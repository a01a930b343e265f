# Tasks of the job itself come first, whatever their place in the file.
job "mixed" {
  type = "batch"

  group "grouped" {
    task "a" {
      driver = "mock"
    }
  }

  task "late" {
    driver = "mock"
    config { exit_code = 3 }
  }

  task "later" {
    driver = "mock"
  }
}
