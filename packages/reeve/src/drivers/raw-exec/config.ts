import { ALLOCATION_ENV_KEY, TASK_ENV_KEY } from '../../agent/index.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import type { ConfigFieldDocs } from '../settings/described-settings.ts'
import { ConfigReader } from '../settings/task-settings.ts'

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
