import { ALLOCATION_MARK, TASK_MARK } from '../../agent/index.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { TaskSettings } from '../settings/task-settings.ts'

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

const FIELDS = ['command', 'args', 'work_dir', 'oom_score_adj', 'denied_envvars']

/** Reads a task's `Config`. Fault `task-config` names the field; a misspelt one is not ignored. */
export function readConfig(config: Readonly<Record<string, unknown>>): RawExecConfig {
  const settings = new TaskSettings(config, { of: 'raw_exec', known: FIELDS })
  return {
    command: settings.requiredText('command'),
    args: settings.texts('args') ?? [],
    workDir: settings.text('work_dir'),
    oomScoreAdj: settings.integer('oom_score_adj', { min: -1_000, max: 1_000 }),
    deniedVariables: settings.texts('denied_envvars') ?? [],
  }
}

/** The environment without what the task denies itself; not without what finds its processes. */
export function withoutDenied(
  env: Readonly<Record<string, string>>,
  denied: readonly string[],
): Readonly<Record<string, string>> {
  const isKept = (name: string): boolean => {
    if (name === ALLOCATION_MARK || name === TASK_MARK) return true
    return !denied.some((pattern) => matchGlob(pattern, name))
  }
  return Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name)))
}
