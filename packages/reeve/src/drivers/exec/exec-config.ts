import type { DescribedSettings } from '../settings/described-settings.ts'
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

/** What `config` of an isolated program may have. */
export const EXEC_SETTINGS = {
  command: [
    'string',
    'Required. The program: a path or a name in `PATH` of the task, executed without a shell.',
  ],
  args: ['list(string)', 'Arguments of the program.'],
  work_dir: ['string', 'Working directory in the root of the task. Defaults to `/`.'],
  pid_mode: ['string', 'PID namespace: `private`, or `host` if the node allows it.'],
  ipc_mode: ['string', 'IPC namespace: `private`, or `host` if the node allows it.'],
  cap_add: [
    'list(string)',
    'Capabilities to add, limited by `allow_caps` of the node (by default without ' +
      '`dac_override`, `mknod` and `setfcap`). A task that is not root has exactly these, and ' +
      'never `setuid` or `setgid`.',
  ],
  cap_drop: ['list(string)', 'Capabilities to drop.'],
} as const satisfies DescribedSettings

export function readExecConfig(config: Readonly<Record<string, unknown>>): ExecConfig {
  const settings = new TaskSettings(config, { of: 'exec', known: Object.keys(EXEC_SETTINGS) })
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
