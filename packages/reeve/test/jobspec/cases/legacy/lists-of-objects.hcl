job "lists" {
  constraint = [
    {
      attribute = "${attr.kernel.name}"
      value     = "linux"
    },
    {
      attribute = "${attr.kernel.version}"
      version   = ">= 5"
    },
  ]

  group "g" {
    task "t" {
      driver = "exec"

      artifact = [
        { source = "https://files.example/a" },
        { source = "https://files.example/b", destination = "local/b" },
      ]
    }
  }
}
