import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, sleep, type Recovery, type TaskHandle } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { signalProcess } from '../proc/process-tree.ts'
import { isAlive, mayBeAlive, readBootId, readProcess, type ProcessId } from '../proc/processes.ts'
import {
  type CgroupLayout,
  type CgroupMount,
  detectLayout,
  findCgroups,
  killAndRemoveCgroups,
  prepareParentCgroups,
  shimCgroups,
} from './cgroup.ts'
import { ExitWatcher } from './exit-watcher.ts'
import { NativeTask, killTree, removeCgroups } from './native-task.ts'
import { Launcher, type LauncherResponse } from './launcher.ts'
import { readExitRecord, readHandleRecord, type HandleRecord } from './supervisor-records.ts'
import { SharedCores } from './shared-cores.ts'
import { oomScoreAdjOf, buildTaskSpec, type TaskSpecInput, type TaskSpec } from './task-spec.ts'

/** How long the launcher of the previous agent may continue with its requests. */
const LAUNCHER_EXIT_TIMEOUT_MS = 10_000

/** How long a start may still be in progress after its launcher died. */
const ORPHANED_START_TIMEOUT_MS = 3_000
const POLL_INTERVAL_MS = 20

/** Window in which further moves between cgroups are cheap; after 50 ms none is. */
const CHEAP_MOVE_WINDOW_MS = 20

interface NativeSupervisorOptions {
  /** The helper's program file. */
  readonly program: string
  /** Directory for the records of exits and of the launcher, kept across restarts. */
  readonly stateDir: string
  readonly clock: Clock
}

/** Capabilities of this machine as reported by the helper. */
export interface NativeCapabilities {
  readonly layout: CgroupLayout
  /** Empty if tasks can be isolated, otherwise the reason. */
  readonly isolationProblem: string
  readonly hasSeccomp: boolean
  readonly uid: number
}

/** Starts and recovers tasks through the helper, for `exec` and `raw_exec`. */
export class NativeSupervisor {
  readonly #options: NativeSupervisorOptions
  readonly #launcher: Launcher
  readonly #exitWatcher: ExitWatcher
  readonly #agentId: string
  readonly #sharedCores: SharedCores
  #capabilities: Promise<NativeCapabilities> | undefined
  /** When a process was last moved between cgroups; undefined for a new launcher. */
  #lastCgroupMoveMs: number | undefined
  #previousLauncherProcess: Promise<ProcessId | undefined> | undefined

  constructor(options: NativeSupervisorOptions) {
    this.#options = options
    this.#agentId = createHash('sha256').update(options.stateDir).digest('hex').slice(0, 12)
    this.#sharedCores = new SharedCores(this.#agentId, async () => {
      return (await this.#capabilities?.catch(() => undefined))?.layout
    })
    this.#exitWatcher = new ExitWatcher(join(options.stateDir, 'exits'), options.clock)
    this.#launcher = new Launcher({
      program: options.program,
      clock: options.clock,
      onStarted: (pid) => this.#recordLauncher(pid),
      onTaskEnded: (taskId) => this.#exitWatcher.check(taskId),
    })
  }

  /** Probes the capabilities once; a failed probe is repeated. */
  capabilities(): Promise<NativeCapabilities> {
    this.#capabilities ??= this.#probe().catch((thrown: unknown) => {
      this.#capabilities = undefined
      throw thrown
    })
    return this.#capabilities
  }

  /** As `TaskDriver.prewarm`. */
  prewarm(): void {
    void this.#capabilities?.then(
      ({ layout }) => this.#prewarmCgroups(layout),
      () => undefined,
    )
  }

  /** Like `TaskDriver.shareCores`; both drivers may call it. */
  shareCores(cores: readonly number[]): Promise<void> {
    return this.#sharedCores.setCores(cores)
  }

  /** Faults as `TaskDriver.start` says. */
  async start(specInput: TaskSpecInput): Promise<NativeTask> {
    const { handle } = specInput.launch
    this.prewarm()
    await this.#exitWatcher.open()
    await mkdir(handle.dir, { recursive: true, mode: 0o700 })
    if (specInput.isolate !== undefined) await mkdir(specInput.isolate.root, { recursive: true })
    const oomScoreAdj = oomScoreAdjOf(specInput.oomScoreAdj, await readAgentOomScoreAdj())
    const effectiveInput = oomScoreAdj === undefined ? specInput : { ...specInput, oomScoreAdj }
    const spec = buildTaskSpec(effectiveInput, {
      exitFile: this.#exitWatcher.pathOf(handle.id),
      handleFile: handlePath(handle),
    })
    await writeFile(specPath(handle), JSON.stringify(spec), { mode: 0o600 })
    try {
      await this.#launcher.request('run', { spec: specPath(handle) })
    } catch (thrown) {
      const isOutcomeUnknown = thrown instanceof Fault && thrown.kind === 'launcher'
      const record = isOutcomeUnknown ? await this.#recordAfterLauncherDeath(handle) : undefined
      if (record === undefined) {
        await rm(handle.dir, { recursive: true, force: true })
        throw startFault(thrown)
      }
    }
    const record = await readHandleRecord(handlePath(handle))
    if (record === undefined) throw new Fault('task-start', 'the supervisor left no record')
    const task = this.#newTask(handle, record, spec)
    await this.#confineToSharedCores(task, record, spec)
    return task
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const bootId = await readBootId()
    if (handle.bootId !== bootId) return { kind: 'lost', reason: 'the machine was restarted' }
    await this.#exitWatcher.open()
    const record = (await readHandleRecord(handlePath(handle))) ?? (await this.#cancelStart(handle))
    if (record === undefined) return this.#killUnrecorded(handle)
    const spec = await readSpec(handle)
    if (spec === undefined) {
      await this.#killTask(record)
      return { kind: 'lost', reason: 'the record of its start is gone' }
    }
    const isSupervised = mayBeAlive(record.shim)
    // Read after checking the shim, which writes it before it exits.
    const exit = await readExitRecord(this.#exitWatcher.pathOf(handle.id))
    if (isSupervised || exit !== undefined) {
      const task = this.#newTask(handle, record, spec)
      if (isSupervised) await this.#confineToSharedCores(task, record, spec)
      return { kind: 'attached', task }
    }
    await this.#killTask(record)
    return { kind: 'lost', reason: 'its supervisor ended without a record' }
  }

  /** Whether the helper made this start, according to its records or its cgroups. */
  async ownsHandle(handle: TaskHandle): Promise<boolean> {
    if ((await readSpec(handle)) !== undefined || existsSync(handlePath(handle))) return true
    const capabilities = await this.capabilities().catch(() => undefined)
    if (capabilities === undefined) return false
    const cgroups = await findCgroups(
      capabilities.layout,
      (name) => name === this.cgroupNameOf(handle),
    )
    return cgroups.length > 0
  }

  /**
   * Name of the cgroups of a start. It includes the agent, identified by its state directory,
   * because several agents may share a machine.
   */
  cgroupNameOf({ id }: TaskHandle): string {
    return `${this.#agentId}.${id}`
  }

  /** Like `OrphanKillingDriver.sweep`; both drivers may call it. */
  async killOrphans(knownHandleIds: ReadonlySet<string>): Promise<void> {
    // First: tasks that are killed below still write their exit.
    await this.#exitWatcher.removeExcept(knownHandleIds)
    const prefix = `${this.#agentId}.`
    await this.#killCgroups(
      (name) => name.startsWith(prefix) && !knownHandleIds.has(name.slice(prefix.length)),
    )
  }

  /** Stops the launcher; tasks continue. */
  async close(): Promise<void> {
    await this.#sharedCores.close()
    await this.#launcher.close()
  }

  #newTask(handle: TaskHandle, record: HandleRecord, spec: TaskSpec): NativeTask {
    const { program, clock } = this.#options
    const { launcher, exits } = { launcher: this.#launcher, exits: this.#exitWatcher }
    return new NativeTask({ handle, record, spec, program, launcher, exitWatcher: exits, clock })
  }

  /** A running task must not fail because it could not be moved: the next change retries. */
  async #confineToSharedCores(
    task: NativeTask,
    record: HandleRecord,
    spec: TaskSpec,
  ): Promise<void> {
    if (hasOwnCores(spec)) return
    const { id } = task.handle
    void task.exited.then(() => this.#sharedCores.delete(id))
    await this.#sharedCores.add(id, record).catch(() => undefined)
  }

  async #killTask(record: HandleRecord): Promise<void> {
    await killTree(this.#launcher, record)
    await removeCgroups(this.#launcher, record)
  }

  /** Kills a start without a readable record by its cgroups. */
  async #killUnrecorded(handle: TaskHandle): Promise<Recovery> {
    const wasRecorded = existsSync(handlePath(handle))
    const cgroupName = this.cgroupNameOf(handle)
    await this.#killCgroups((name) => name === cgroupName)
    await rm(handle.dir, { recursive: true, force: true })
    if (!wasRecorded) return { kind: 'never-started' }
    return { kind: 'lost', reason: 'the record of its start is damaged' }
  }

  async #killCgroups(shouldKill: (name: string) => boolean): Promise<void> {
    const capabilities = await this.capabilities().catch(() => undefined)
    if (capabilities !== undefined)
      await killAndRemoveCgroups(this.#launcher, capabilities.layout, shouldKill)
  }

  async #probe(): Promise<NativeCapabilities> {
    const response = await this.#launcher.request('probe')
    const mounts = response['cgroupMounts']
    const layout = detectLayout(Array.isArray(mounts) ? mounts.filter(isCgroupMount) : [])
    return {
      layout: await prepareParentCgroups(layout),
      isolationProblem: isolationProblemIn(response),
      hasSeccomp: response['seccomp'] === true,
      uid: Number(response['uid'] ?? -1),
    }
  }

  /**
   * Moves the launcher to the cgroups of its shims in advance. With cgroup v1, the first move after
   * a while takes the kernel 6 to 18 ms (measured), which the start then does not wait for.
   */
  #prewarmCgroups(layout: CgroupLayout): void {
    const nowMs = this.#options.clock.monotonicMs()
    const isFresh =
      this.#lastCgroupMoveMs !== undefined && nowMs - this.#lastCgroupMoveMs < CHEAP_MOVE_WINDOW_MS
    const isDone = this.#lastCgroupMoveMs !== undefined && Object.keys(layout.v1).length === 0
    if (isFresh || isDone) return
    this.#lastCgroupMoveMs = nowMs
    // If this fails, the shims move themselves.
    this.#launcher.request('settle', { paths: shimCgroups(layout) }).catch(() => undefined)
  }

  /** Outcome of a start whose launcher died: its record if it did start. */
  async #recordAfterLauncherDeath(handle: TaskHandle): Promise<HandleRecord | undefined> {
    const deadlineMs = this.#options.clock.monotonicMs() + ORPHANED_START_TIMEOUT_MS
    while (this.#options.clock.monotonicMs() < deadlineMs) {
      const record = await readHandleRecord(handlePath(handle))
      if (record !== undefined) return record
      await sleep(this.#options.clock, POLL_INTERVAL_MS)
    }
    return undefined
  }

  /**
   * Cancels a start of unknown outcome by removing its spec. If the launcher had read the spec
   * before, the record shows it once that launcher is gone; it ends with its agent.
   */
  async #cancelStart(handle: TaskHandle): Promise<HandleRecord | undefined> {
    try {
      await rename(specPath(handle), cancelledSpecPath(handle))
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown
      if ((await readSpec(handle)) === undefined) return undefined
    }
    await this.#awaitPreviousLauncher()
    return readHandleRecord(handlePath(handle))
  }

  async #awaitPreviousLauncher(): Promise<void> {
    const previous = await this.#findPreviousLauncher()
    if (previous === undefined) return
    const { clock } = this.#options
    const deadlineMs = clock.monotonicMs() + LAUNCHER_EXIT_TIMEOUT_MS
    while (isAlive(previous)) {
      if (clock.monotonicMs() >= deadlineMs) signalProcess(previous, SIGKILL)
      await sleep(clock, POLL_INTERVAL_MS)
    }
  }

  #findPreviousLauncher(): Promise<ProcessId | undefined> {
    this.#previousLauncherProcess ??= readLauncherRecord(this.#launcherPath())
    return this.#previousLauncherProcess
  }

  /** Records the launcher for the next agent, after the previous record was read. */
  async #recordLauncher(pid: number): Promise<void> {
    this.#lastCgroupMoveMs = undefined
    await this.#findPreviousLauncher()
    await this.#exitWatcher.open()
    const startTime = readProcess(pid)?.startTime ?? 0
    await writeFile(this.#launcherPath(), JSON.stringify({ pid, startTime }), { mode: 0o600 })
  }

  #launcherPath(): string {
    return join(this.#options.stateDir, 'launcher.json')
  }
}

const SIGKILL = 9

/** Whether the task has reserved cores. */
function hasOwnCores({ cgroups }: TaskSpec): boolean {
  return cgroups.some(({ write }) => write.some(([file]) => file === 'cpuset.cpus'))
}

const handlePath = ({ dir }: TaskHandle): string => join(dir, 'handle.json')
/** OOM score adjustment of the agent, which its supervisors inherit. */
async function readAgentOomScoreAdj(): Promise<number> {
  return Number(await readFile('/proc/self/oom_score_adj', 'utf8').catch(() => '0'))
}

const specPath = ({ dir }: TaskHandle): string => join(dir, 'spec.json')
const cancelledSpecPath = ({ dir }: TaskHandle): string => join(dir, 'withdrawn.json')

async function readSpec(handle: TaskHandle): Promise<TaskSpec | undefined> {
  for (const path of [specPath(handle), cancelledSpecPath(handle)]) {
    try {
      // Written by `start` in a directory that only the agent's user can read.
      return JSON.parse(await readFile(path, 'utf8')) as TaskSpec
    } catch (thrown) {
      if (!isMissing(thrown) && !(thrown instanceof SyntaxError)) throw thrown
    }
  }
  return undefined
}

async function readLauncherRecord(path: string): Promise<ProcessId | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '')
  try {
    const { pid, startTime }: Partial<ProcessId> = JSON.parse(text)
    return typeof pid === 'number' && typeof startTime === 'number' ? { pid, startTime } : undefined
  } catch {
    return undefined
  }
}

function isolationProblemIn(response: LauncherResponse): string {
  const problem = response['isolation']
  return typeof problem === 'string'
    ? problem
    : 'the helper cannot tell whether tasks can be isolated'
}

function isCgroupMount(value: unknown): value is CgroupMount {
  return typeof value === 'object' && value !== null && 'path' in value && 'controllers' in value
}

const FAULT_KIND_BY_HELPER_KIND: Readonly<Record<string, string>> = {
  'helper-config': 'task-config',
  'helper-unstartable': 'task-unstartable',
}

function startFault(thrown: unknown): Fault {
  const kind =
    thrown instanceof Fault
      ? (FAULT_KIND_BY_HELPER_KIND[thrown.kind] ?? 'task-start')
      : 'task-start'
  return new Fault(kind, errorMessage(thrown), { cause: thrown })
}
