import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { writeExample } from '../write-example.ts'

/** `job init`: writes an example job file that is valid and runs. */
export async function runJobInit(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const kind = flags.oneOf('kind', EXAMPLE_KINDS) ?? 'service'
  const file = args[0] ?? 'example.hcl'
  await writeExample(invocation, {
    file,
    text: EXAMPLE_JOBS[kind],
    next: [`reeve job plan ${file}`, `reeve job run ${file}`],
  })
  return EXIT_CODES.ok
}

const EXAMPLE_KINDS = ['service', 'batch', 'periodic', 'parameterized', 'system'] as const

/**
 * Example job files. They run on any node with /bin/sh and the raw_exec driver, such as `reeve
 * agent --dev`.
 */
const EXAMPLE_JOBS: Readonly<Record<(typeof EXAMPLE_KINDS)[number], string>> = {
  service: `# A service: instances that are kept running, and replaced one by one when it changes.
# docs/reference/job-file/README.md explains the language.

variable "count" {
  type    = number
  default = 2
}

job "example" {
  type        = "service"
  datacenters = ["*"]

  group "web" {
    count = var.count

    # How a new version is rolled out: one instance at a time, back to the last good one if it fails.
    update {
      max_parallel     = 1
      min_healthy_time = "1s"
      healthy_deadline = "1m"
      auto_revert      = true
    }

    # What to do when a task ends by itself: here twice in a minute, then somewhere else.
    restart {
      attempts = 2
      interval = "1m"
      delay    = "5s"
      mode     = "fail"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo $GREETING; sleep 2; done"]
      }

      env {
        GREETING = "Hello"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
  batch: `# A batch job: it runs until its task has ended well.

job "example" {
  type        = "batch"
  datacenters = ["*"]

  group "work" {
    task "count" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "for i in 1 2 3; do echo step $i; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
  periodic: `# A periodic job: an instance of it is launched by the clock.

job "example" {
  type        = "batch"
  datacenters = ["*"]

  periodic {
    crons            = ["*/15 * * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "work" {
    task "tick" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "date"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
  parameterized: `# A parameterized job: each "reeve job dispatch" makes an instance of it.

job "example" {
  type        = "batch"
  datacenters = ["*"]

  parameterized {
    payload       = "optional"
    meta_optional = ["name"]
  }

  meta {
    name = "nobody"
  }

  group "work" {
    task "greet" {
      driver = "raw_exec"

      dispatch_payload {
        file = "payload.txt"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo Hello $REEVE_META_name; cat local/payload.txt"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
  system: `# A system job: one instance on every node.

job "example" {
  type        = "system"
  datacenters = ["*"]

  group "agent" {
    task "watch" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do cat /proc/loadavg; sleep 10; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
}
