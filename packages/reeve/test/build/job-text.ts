interface JobText {
  readonly id: string
  readonly type?: string
  readonly count?: number
  /** What `/bin/sh -c` runs; waits unless given. */
  readonly script?: string
  readonly memoryMB?: number
  /** Lines of the job block, of the group block, and of its update block. */
  readonly job?: string
  readonly group?: string
  readonly update?: string
}

/** A job file for any node with `raw_exec`: one group `app` with one task `main`. */
export function aJobText(fields: JobText): string {
  const { id, type = 'service', count = 1, script = 'exec sleep 600', memoryMB = 20 } = fields
  const update =
    type === 'service' ? `update {\n      ${fields.update ?? HEALTHY_AT_ONCE}\n    }` : ''
  return `job "${id}" {
  type = "${type}"
  ${fields.job ?? ''}
  group "app" {
    count = ${count}
    ${update}
    ${fields.group ?? ''}
    task "main" {
      driver       = "raw_exec"
      kill_timeout = "1s"
      config {
        command = "/bin/sh"
        args    = ["-c", ${JSON.stringify(script)}]
      }
      resources {
        cpu    = 20
        memory = ${memoryMB}
      }
    }
  }
}
`
}

const HEALTHY_AT_ONCE = 'min_healthy_time = "0s"'
