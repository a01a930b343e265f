# No variables and no functions: what looks like one is text.
job "text" {
  type = "batch"

  group "g" {
    task "t" {
      driver = "exec"

      config {
        command = "${REEVE_TASK_DIR}/run"
        args    = ["${var.name}", "${upper("x")}", "${ 1 + 2 }", "%{ if x }y%{ endif }"]
      }

      env {
        A = "${attr.kernel.name}-${meta.x}"
      }
    }
  }
}
