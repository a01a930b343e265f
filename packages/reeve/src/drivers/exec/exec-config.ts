import { TaskSettings } from '../settings/task-settings.ts'

/** The settings of `exec`. */
export interface ExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** As the task sees it. */
  readonly workDir: string | undefined
  readonly isPidShared: boolean
  readonly isIpcShared: boolean
  readonly capAdd: readonly string[]
  readonly capDrop: readonly string[]
}

const FIELDS = ['command', 'args', 'work_dir', 'pid_mode', 'ipc_mode', 'cap_add', 'cap_drop']

export function readExecConfig(config: Readonly<Record<string, unknown>>): ExecConfig {
  const settings = new TaskSettings(config, { of: 'exec', known: FIELDS })
  const workDir = settings.text('work_dir')
  if (workDir !== undefined && !workDir.startsWith('/')) {
    throw settings.refuse('work_dir', 'must begin with / : it is a path inside the task')
  }
  return {
    command: settings.requiredText('command'),
    args: settings.texts('args') ?? [],
    workDir,
    isPidShared: settings.oneOf('pid_mode', ['private', 'host']) === 'host',
    isIpcShared: settings.oneOf('ipc_mode', ['private', 'host']) === 'host',
    capAdd: settings.texts('cap_add') ?? [],
    capDrop: settings.texts('cap_drop') ?? [],
  }
}
