import type { ConfigFieldDocs } from '../settings/described-settings.ts'
import { ConfigReader } from '../settings/task-settings.ts'

/** The settings of `exec`. */
export interface ExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** As the task sees it. */
  readonly workDir: string | undefined
  readonly sharesPidNamespace: boolean
  readonly sharesIpcNamespace: boolean
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
} as const satisfies ConfigFieldDocs

export function readExecConfig(config: Readonly<Record<string, unknown>>): ExecConfig {
  const reader = new ConfigReader(config, { owner: 'exec', known: Object.keys(EXEC_SETTINGS) })
  const workDir = reader.string('work_dir')
  if (workDir !== undefined && !workDir.startsWith('/')) {
    throw reader.fault('work_dir', 'must begin with / : it is a path inside the task')
  }
  return {
    command: reader.requiredString('command'),
    args: reader.strings('args') ?? [],
    workDir,
    sharesPidNamespace: reader.oneOf('pid_mode', ['private', 'host']) === 'host',
    sharesIpcNamespace: reader.oneOf('ipc_mode', ['private', 'host']) === 'host',
    capAdd: reader.strings('cap_add') ?? [],
    capDrop: reader.strings('cap_drop') ?? [],
  }
}
