import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { ALLOCATION_ENV_KEY, errorCode, TASK_ENV_KEY } from '../../agent/index.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { type ConfigFieldDocs, ConfigReader } from '../config-reader.ts'

/** The settings of `raw_exec`. */
interface RawExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** Undefined: the task's own directory. */
  readonly workDir: string | undefined
  readonly oomScoreAdj: number | undefined
  /** Names of variables that the task does not get; `*` stands for anything. */
  readonly deniedVariables: readonly string[]
}

/** What `config` of a program without isolation may have. */
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

/** Reads a task's `Config`. Fault `task-config` names the field; a misspelt one is not ignored. */
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

/** The environment without what the task denies itself; not without what finds its processes. */
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
  /** Relative commands are files of the task. */
  readonly taskDir: string
  /** The task's own search path; the agent's is not consulted. */
  readonly path: string
}

/**
 * The program file of a command. Looked for before anything is started, so that a misspelt command
 * is said to be just that. Fault `task-unstartable` when it is missing or no program.
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
    // root passes the access check of a file that nobody may execute.
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
