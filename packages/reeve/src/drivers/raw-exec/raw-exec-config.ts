import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { ALLOCATION_ENV_KEY, errorCode, TASK_ENV_KEY } from '../../agent/index.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { type ConfigFieldDocs, ConfigReader } from '../config-reader.ts'

/** Parsed `config` of a task. */
interface RawExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** Undefined for the task directory. */
  readonly workDir: string | undefined
  readonly oomScoreAdj: number | undefined
  /** Names of environment variables to remove; `*` matches any characters. */
  readonly deniedVariables: readonly string[]
}

/** Types and documentation of the fields of `config`. */
export const RAW_EXEC_SETTINGS = {
  command: [
    'string',
    'Required. The program: a path or a name in `PATH` of the task, executed without a shell.',
  ],
  args: ['list(string)', 'Arguments of the program.'],
  work_dir: ['string', 'Working directory on the node. Defaults to the directory of the task.'],
  oom_score_adj: ['number', 'Preference of the kernel when memory runs out, from -1000 to 1000.'],
  denied_envvars: [
    'list(string)',
    'Variables that the task does not get; `*` matches any characters.',
  ],
} as const satisfies ConfigFieldDocs

/** Parses the `Config` of a task. Fault `task-config` names an invalid or unknown field. */
export function readRawExecConfig(config: Readonly<Record<string, unknown>>): RawExecConfig {
  const reader = new ConfigReader(config, {
    owner: 'raw_exec',
    known: Object.keys(RAW_EXEC_SETTINGS),
  })
  return {
    command: reader.requiredString('command'),
    args: reader.strings('args') ?? [],
    workDir: reader.string('work_dir'),
    oomScoreAdj: reader.integer('oom_score_adj', { min: -1_000, max: 1_000 }),
    deniedVariables: reader.strings('denied_envvars') ?? [],
  }
}

/**
 * Returns the environment without denied variables, except those that identify the processes of the
 * task.
 */
export function withoutDeniedVariables(
  env: Readonly<Record<string, string>>,
  denied: readonly string[],
): Readonly<Record<string, string>> {
  const isKept = (name: string): boolean => {
    if (name === ALLOCATION_ENV_KEY || name === TASK_ENV_KEY) return true
    return !denied.some((pattern) => matchGlob(pattern, name))
  }
  return Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name)))
}

interface CommandLookup {
  /** Directory of the task, for relative commands. */
  readonly taskDir: string
  /** `PATH` of the task; that of the agent is not used. */
  readonly path: string
}

/**
 * Finds the program of a command before the start, so that a misspelt command gets a clear error.
 * Fault `task-unstartable` if it is missing or not executable.
 */
export async function findCommand(command: string, lookup: CommandLookup): Promise<string> {
  if (command.includes('/')) {
    const file = resolve(lookup.taskDir, command)
    const problem = await executableProblem(file)
    if (problem === undefined) return file
    throw new Fault('task-unstartable', `command ${JSON.stringify(command)} ${problem}`)
  }
  let problemInPath = 'was not found'
  for (const directory of lookup.path.split(delimiter)) {
    const file = resolve(lookup.taskDir, directory, command)
    const problem = await executableProblem(file)
    if (problem === undefined) return file
    if (problem !== 'was not found') problemInPath = `${problem} (${file})`
  }
  const name = JSON.stringify(command)
  throw new Fault('task-unstartable', `command ${name} ${problemInPath} in PATH ${lookup.path}`)
}

async function executableProblem(file: string): Promise<string | undefined> {
  try {
    const stats = await stat(file)
    if (!stats.isFile()) return 'is not a file'
    // The access check always succeeds for root, even if the file is not executable.
    if ((stats.mode & 0o111) === 0) return 'is not executable'
    await access(file, constants.X_OK)
    return undefined
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'was not found'
    if (code === 'EACCES') return 'is not executable'
    return `cannot be used: ${code ?? String(thrown)}`
  }
}
