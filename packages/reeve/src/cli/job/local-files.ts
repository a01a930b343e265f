import { readdir, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { formatDiagnostics, formatSource } from '@reeve/hcl'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, systemErrorReason, UsageError } from '../errors.ts'
import { isJson, JOB_FILE, readText } from '../job-file/read-job-file.ts'
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
  service: `# A service job: its allocations run until it is stopped.
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

    # New versions replace one allocation at a time; a failed deployment is rolled back.
    update {
      max_parallel     = 1
      min_healthy_time = "1s"
      healthy_deadline = "1m"
      auto_revert      = true
    }

    # If a task exits, it is restarted up to twice a minute, then rescheduled on another node.
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
  batch: `# A batch job: it runs until its task has succeeded.

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
  periodic: `# A periodic job: a child job is launched at each time of the schedule.

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
  parameterized: `# A parameterized job: each "reeve job dispatch" creates a child job.

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
  system: `# A system job: one allocation on every node.

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

/** File suffixes that are formatted in directories; any file may be named explicitly. */
const SUFFIXES = ['.hcl', '.reeve']

/** `job fmt`: formats job files in the canonical style. */
export async function runJobFmt(invocation: CommandContext): Promise<number> {
  const { args, flags, host, output } = invocation
  if (args.includes('-')) return await formatInput(invocation)
  const check = flags.has('check')
  let changed = 0
  for (const path of await filesOf(invocation, args.length === 0 ? ['.'] : args)) {
    const text = await readText(invocation, path, JOB_FILE)
    const formatted = formattedText(path, text)
    if (formatted === text) continue
    changed++
    if (!flags.isNegated('list')) output.printLine(path)
    if (check || flags.isNegated('write')) continue
    await writeFile(resolve(host.directory, path), formatted).catch((thrown: unknown) => {
      throw new CommandError(`${path} cannot be written: ${systemErrorReason(thrown)}.`)
    })
  }
  return check && changed > 0 ? EXIT_CODES.failed : EXIT_CODES.ok
}

/** Formats standard input to standard output, for editors. */
async function formatInput(invocation: CommandContext): Promise<number> {
  const { args, flags, host } = invocation
  if (args.length > 1) throw new UsageError('"-" is standard input: name no other file with it.')
  const text = await readText(invocation, '-', JOB_FILE)
  const formatted = formattedText('-', text)
  if (flags.has('check')) return formatted === text ? EXIT_CODES.ok : EXIT_CODES.failed
  host.out(formatted)
  return EXIT_CODES.ok
}

function formattedText(path: string, text: string): string {
  const displayName = path === '-' ? '<stdin>' : path
  if (isJson(text)) throw new CommandError(`${displayName} is JSON: only HCL is formatted.`)
  const formatted = formatSource(text, path === '-' ? displayName : basename(path))
  if (formatted.ok) return formatted.value
  throw new CommandError(
    `${displayName} cannot be formatted:\n\n${formatDiagnostics(text, formatted.error)}`,
  )
}

/** Returns the named files and the job files in the named directories. */
async function filesOf(
  { flags, host }: CommandContext,
  paths: readonly string[],
): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths) {
    const fullPath = resolve(host.directory, path)
    const found = await stat(fullPath).catch(() => undefined)
    if (found?.isDirectory() !== true) {
      files.push(path)
      continue
    }
    const names = await readdir(fullPath, { recursive: flags.has('recursive') })
    const wanted = names.filter((name) => SUFFIXES.some((suffix) => name.endsWith(suffix)))
    files.push(...wanted.toSorted().map((name) => join(path, name)))
  }
  return files
}
