import type { Client } from '@reeve/sdk'

/** Job files that the tests submit, written as people write them. */

interface ServiceOptions {
  readonly count?: number
  /** Said by each instance once a second. */
  readonly words?: string
  readonly canaries?: number
}

export function serviceFile(id: string, options: ServiceOptions = {}): string {
  const { count = 2, words = 'hello', canaries = 0 } = options
  return `job "${id}" {
  group "app" {
    count = ${count}
    update {
      canary           = ${canaries}
      max_parallel     = 1
      min_healthy_time = "0s"
    }
    task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo ${words}; sleep 1; done"]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
`
}

/** Registers a job file with its source, as the command line does. */
export async function runFile(client: Client, Source: string): Promise<void> {
  const { data: Job } = await client.v1.parseJob({ body: { JobHCL: Source, Canonicalize: true } })
  await client.v1.registerJob({ body: { Job, Submission: { Source, Format: 'hcl2' } } })
}
