import { Fault } from '../../kit/fault.ts'

/** Reference scheduling §40: the settings of `raw_exec`. */
interface RawExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** Undefined: the task's own directory. */
  readonly workDir: string | undefined
}

const FIELDS: ReadonlySet<string> = new Set(['command', 'args', 'work_dir'])

/** Reads a task's `Config`. Fault `task-config` names the field; a misspelt one is not ignored. */
export function readConfig(config: Readonly<Record<string, unknown>>): RawExecConfig {
  for (const name of Object.keys(config)) {
    if (!FIELDS.has(name)) throw bad(JSON.stringify(name), 'is not a setting of raw_exec')
  }
  const command = text('command', config['command'])
  if (command === '') throw bad('command', 'is empty')
  const workDir = config['work_dir'] ?? undefined
  return {
    command,
    args: list('args', config['args'] ?? []),
    workDir: workDir === undefined ? undefined : text('work_dir', workDir),
  }
}

function list(field: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw bad(field, 'must be a list of texts')
  return value.map((item: unknown, index) => {
    // Job files write numbers and truth values without quotes.
    const plain = typeof item === 'number' || typeof item === 'boolean' ? String(item) : item
    return text(`${field}[${index}]`, plain)
  })
}

function text(field: string, value: unknown): string {
  if (value === undefined || value === null) throw bad(field, 'is required')
  if (typeof value !== 'string') throw bad(field, 'must be a text')
  if (value.includes('\0')) throw bad(field, 'holds a NUL character')
  return value
}

function bad(field: string, what: string): Fault {
  return new Fault('task-config', `${field} ${what}`)
}
