import type { TaskLaunch } from '../../agent/index.ts'
import type { CgroupSpec } from './cgroup-plan.ts'
import type { RootfsEntry } from './isolation.ts'

/** native/PROTOCOL.md, section 2: what the helper is told about a task. */
export interface TaskSpec extends CgroupSpec {
  readonly v: 1
  readonly id: string
  readonly name: string
  readonly exitFile: string
  readonly handleFile: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly user: string
  /** The supplementary groups; absent: those that the account files of the machine say. */
  readonly groups?: readonly number[]
  readonly denyUsers?: readonly string[]
  readonly caps?: readonly string[]
  readonly noNewPrivs?: boolean
  readonly seccomp?: boolean
  readonly isolate?: IsolateSpec
  readonly netns?: string
  readonly oomScoreAdj?: number
  readonly umask?: number
  readonly logs?: {
    readonly stdout: string
    readonly stderr: string
    readonly maxBytes: number
    readonly maxFiles: number
  }
}

interface IsolateSpec {
  readonly root: string
  readonly hostname: string
  readonly pidNamespace: boolean
  readonly ipcNamespace: boolean
  readonly entries: readonly RootfsEntry[]
}

/** What the driver decides; the rest of a spec is the runtime's. */
export type TaskSpecInput = Omit<
  TaskSpec,
  'v' | 'id' | 'name' | 'exitFile' | 'handleFile' | 'logs'
> & {
  readonly launch: TaskLaunch
}

export function buildTaskSpec(
  input: TaskSpecInput,
  files: { readonly exitFile: string; readonly handleFile: string },
): TaskSpec {
  const { launch, ...specFields } = input
  const { handle, logs } = launch
  return {
    v: 1,
    id: handle.id,
    name: handle.task,
    ...files,
    ...specFields,
    ...(logs === undefined
      ? {}
      : {
          logs: {
            stdout: logs.stdoutPrefix,
            stderr: logs.stderrPrefix,
            maxBytes: logs.maxFileBytes,
            maxFiles: logs.maxFiles,
          },
        }),
  }
}

/**
 * The OOM score of a task: tasks do not inherit the protection that an agent has from its systemd
 * unit, and are never less protected than an agent without one. Undefined: that of the agent.
 */
export function oomScoreAdjOf(
  requested: number | undefined,
  agentScore: number,
): number | undefined {
  return requested ?? (agentScore < 0 ? 0 : undefined)
}
