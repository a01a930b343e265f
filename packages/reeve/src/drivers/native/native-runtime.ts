import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, pause, type Recovery, type TaskHandle } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { sendSignal } from '../raw-exec/process-tree.ts'
import { isAlive, mayBeAlive, readProcess, type ProcessRef } from '../raw-exec/processes.ts'
import { prepareParents } from './cgroup-parents.ts'
import { chooseLayout, shimGroups, type CgroupLayout, type CgroupMount } from './cgroup-plan.ts'
import { ExitWatch } from './exit-watch.ts'
import { NativeTask, killTree, removeCgroups } from './native-task.ts'
import { Launcher, type LauncherAnswer } from './launcher.ts'
import { readExit, readHandle, type HandleRecord } from './records.ts'
import { SharedCores } from './shared-cores.ts'
import { findCgroups, sweepCgroups } from './sweep-cgroups.ts'
import { taskOomScore, taskSpec, type TaskPlan, type TaskSpec } from './task-spec.ts'

const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** How long a launcher may go on with what an agent before this one asked it. */
const LAUNCHER_END_MS_MAX = 10_000

/** How long a start may still be under way whose launcher died. */
const ORPHAN_MS_MAX = 3_000
const LOOK_MS = 20

/** How long further moves between control groups are cheap; with 50 ms between them none is. */
const MOVES_CHEAP_MS = 20

export interface NativeOptions {
  /** The helper's program file. */
  readonly program: string
  /** For the records of exits and of the launcher; kept from one agent to the next. */
  readonly stateDir: string
  readonly clock: Clock
}

/** What the helper found out about this machine. */
export interface NativeFacts {
  readonly layout: CgroupLayout
  /** Empty when tasks can be isolated, else why not. */
  readonly isolationTrouble: string
  readonly hasSeccomp: boolean
  readonly uid: number
}

/** Starts tasks through the helper and finds them again: what `exec` and `raw_exec` share. */
export class NativeRuntime {
  readonly #options: NativeOptions
  readonly #launcher: Launcher
  readonly #exits: ExitWatch
  readonly #owner: string
  readonly #cores: SharedCores
  #facts: Promise<NativeFacts> | undefined
  /** When something last moved between control groups; undefined: this launcher has not. */
  #movedMs: number | undefined
  #previous: Promise<ProcessRef | undefined> | undefined

  constructor(options: NativeOptions) {
    this.#options = options
    this.#owner = createHash('sha256').update(options.stateDir).digest('hex').slice(0, 12)
    this.#cores = new SharedCores(this.#owner, async () => {
      return (await this.#facts?.catch(() => undefined))?.layout
    })
    this.#exits = new ExitWatch(join(options.stateDir, 'exits'), options.clock)
    this.#launcher = new Launcher({
      program: options.program,
      clock: options.clock,
      began: (pid) => this.#noteLauncher(pid),
      ended: (taskId) => this.#exits.look(taskId),
    })
  }

  /** Asks the helper once what works here; a failure is asked again. */
  facts(): Promise<NativeFacts> {
    this.#facts ??= this.#probe().catch((thrown: unknown) => {
      this.#facts = undefined
      throw thrown
    })
    return this.#facts
  }

  /** As `TaskDriver.expectStart`. */
  expectStart(): void {
    void this.#facts?.then(
      ({ layout }) => this.#settle(layout),
      () => undefined,
    )
  }

  /** As `TaskDriver.shareCores`; both drivers of this runtime may ask. */
  shareCores(cores: readonly number[]): Promise<void> {
    return this.#cores.set(cores)
  }

  /** Faults as `TaskDriver.start` says. */
  async start(plan: TaskPlan): Promise<NativeTask> {
    const { handle } = plan.launch
    this.expectStart()
    await this.#exits.open()
    await mkdir(handle.dir, { recursive: true, mode: 0o700 })
    if (plan.isolate !== undefined) await mkdir(plan.isolate.root, { recursive: true })
    const oomScoreAdj = taskOomScore(plan.oomScoreAdj, await readOomScore())
    const chosen = oomScoreAdj === undefined ? plan : { ...plan, oomScoreAdj }
    const spec = taskSpec(chosen, {
      exitFile: this.#exits.pathOf(handle.id),
      handleFile: handlePath(handle),
    })
    await writeFile(specPath(handle), JSON.stringify(spec), { mode: 0o600 })
    try {
      await this.#launcher.ask('run', { spec: specPath(handle) })
    } catch (thrown) {
      const isUnknown = thrown instanceof Fault && thrown.kind === 'launcher'
      const record = isUnknown ? await this.#orphan(handle) : undefined
      if (record === undefined) {
        await rm(handle.dir, { recursive: true, force: true })
        throw startFault(thrown)
      }
    }
    const record = await readHandle(handlePath(handle))
    if (record === undefined) throw new Fault('task-start', 'the supervisor left no record')
    const task = this.#task(handle, record, spec)
    await this.#keepOffReserved(task, record, spec)
    return task
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const bootId = (await readFile(BOOT_ID, 'utf8')).trim()
    if (handle.bootId !== bootId) return { kind: 'lost', reason: 'the machine was restarted' }
    await this.#exits.open()
    const record = (await readHandle(handlePath(handle))) ?? (await this.#withdraw(handle))
    if (record === undefined) return this.#endUnrecorded(handle)
    const spec = await readSpec(handle)
    if (spec === undefined) {
      await this.#end(record)
      return { kind: 'lost', reason: 'the record of its start is gone' }
    }
    const isSupervised = mayBeAlive(record.shim)
    // Read after the look at the shim: it writes before it ends.
    const exit = await readExit(this.#exits.pathOf(handle.id))
    if (isSupervised || exit !== undefined) {
      const task = this.#task(handle, record, spec)
      if (isSupervised) await this.#keepOffReserved(task, record, spec)
      return { kind: 'attached', task }
    }
    await this.#end(record)
    return { kind: 'lost', reason: 'its supervisor ended without a record' }
  }

  /** Whether this start was made through the helper; its groups tell where its records do not. */
  async knows(handle: TaskHandle): Promise<boolean> {
    if ((await readSpec(handle)) !== undefined || existsSync(handlePath(handle))) return true
    const facts = await this.facts().catch(() => undefined)
    if (facts === undefined) return false
    const groups = await findCgroups(facts.layout, (name) => name === this.groupOf(handle))
    return groups.length > 0
  }

  /**
   * The control groups of a start. Several agents may share a machine: the name says whose it is,
   * by the directory that their records are in.
   */
  groupOf({ id }: TaskHandle): string {
    return `${this.#owner}.${id}`
  }

  /** As `SweepingDriver.sweep`; both drivers of this runtime may ask. */
  async sweep(known: ReadonlySet<string>): Promise<void> {
    // First: who is ended below still writes how.
    await this.#exits.keep(known)
    const prefix = `${this.#owner}.`
    await this.#sweep((name) => name.startsWith(prefix) && !known.has(name.slice(prefix.length)))
  }

  /** Ends the launcher; tasks go on. */
  async close(): Promise<void> {
    await this.#cores.close()
    await this.#launcher.close()
  }

  #task(handle: TaskHandle, record: HandleRecord, spec: TaskSpec): NativeTask {
    const { program, clock } = this.#options
    const { launcher, exits } = { launcher: this.#launcher, exits: this.#exits }
    return new NativeTask({ handle, record, spec, program, launcher, exits, clock })
  }

  /** A task that runs must not end because it could not be moved: the next change tries again. */
  async #keepOffReserved(task: NativeTask, record: HandleRecord, spec: TaskSpec): Promise<void> {
    if (isPinned(spec)) return
    const { id } = task.handle
    void task.exited.then(() => this.#cores.delete(id))
    await this.#cores.add(id, record).catch(() => undefined)
  }

  async #end(record: HandleRecord): Promise<void> {
    await killTree(this.#launcher, record)
    await removeCgroups(this.#launcher, record)
  }

  /** A start that nothing readable tells of: whatever of it runs all the same is in its groups. */
  async #endUnrecorded(handle: TaskHandle): Promise<Recovery> {
    const wasRecorded = existsSync(handlePath(handle))
    const group = this.groupOf(handle)
    await this.#sweep((name) => name === group)
    await rm(handle.dir, { recursive: true, force: true })
    if (!wasRecorded) return { kind: 'never-started' }
    return { kind: 'lost', reason: 'the record of its start is damaged' }
  }

  async #sweep(isLeft: (name: string) => boolean): Promise<void> {
    const facts = await this.facts().catch(() => undefined)
    if (facts !== undefined) await sweepCgroups(this.#launcher, facts.layout, isLeft)
  }

  async #probe(): Promise<NativeFacts> {
    const answer = await this.#launcher.ask('probe')
    const mounts = answer['cgroupMounts']
    const layout = chooseLayout(Array.isArray(mounts) ? mounts.filter(isMount) : [])
    return {
      layout: await prepareParents(layout),
      isolationTrouble: isolationTrouble(answer),
      hasSeccomp: answer['seccomp'] === true,
      uid: Number(answer['uid'] ?? -1),
    }
  }

  /**
   * Puts the launcher where its shims belong. Groups of version 1 are moved into, and the first
   * move after a while takes the kernel 6 to 18 ms (measured): made now, the start does not wait.
   */
  #settle(layout: CgroupLayout): void {
    const nowMs = this.#options.clock.monotonicMs()
    const isFresh = this.#movedMs !== undefined && nowMs - this.#movedMs < MOVES_CHEAP_MS
    const isDone = this.#movedMs !== undefined && Object.keys(layout.v1).length === 0
    if (isFresh || isDone) return
    this.#movedMs = nowMs
    // A launcher that does not is one whose shims move by themselves.
    this.#launcher.ask('settle', { paths: shimGroups(layout) }).catch(() => undefined)
  }

  /** What a start became whose launcher died: the record of it, when it did begin. */
  async #orphan(handle: TaskHandle): Promise<HandleRecord | undefined> {
    const untilMs = this.#options.clock.monotonicMs() + ORPHAN_MS_MAX
    while (this.#options.clock.monotonicMs() < untilMs) {
      const record = await readHandle(handlePath(handle))
      if (record !== undefined) return record
      await pause(this.#options.clock, LOOK_MS)
    }
    return undefined
  }

  /**
   * Calls off a start of which nothing is known: the launcher of that time finds no spec any more.
   * If it had read it before, that is known once it is gone; it ends with the agent that made it.
   */
  async #withdraw(handle: TaskHandle): Promise<HandleRecord | undefined> {
    try {
      await rename(specPath(handle), withdrawnPath(handle))
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown
      if ((await readSpec(handle)) === undefined) return undefined
    }
    await this.#previousGone()
    return readHandle(handlePath(handle))
  }

  async #previousGone(): Promise<void> {
    const previous = await this.#previousLauncher()
    if (previous === undefined) return
    const { clock } = this.#options
    const untilMs = clock.monotonicMs() + LAUNCHER_END_MS_MAX
    while (isAlive(previous)) {
      if (clock.monotonicMs() >= untilMs) sendSignal(previous, SIGKILL)
      await pause(clock, LOOK_MS)
    }
  }

  #previousLauncher(): Promise<ProcessRef | undefined> {
    this.#previous ??= readLauncher(this.#launcherPath())
    return this.#previous
  }

  /** Written down for the next agent, after the note of the one before has been read. */
  async #noteLauncher(pid: number): Promise<void> {
    this.#movedMs = undefined
    await this.#previousLauncher()
    await this.#exits.open()
    const startTime = readProcess(pid)?.startTime ?? 0
    await writeFile(this.#launcherPath(), JSON.stringify({ pid, startTime }), { mode: 0o600 })
  }

  #launcherPath(): string {
    return join(this.#options.stateDir, 'launcher.json')
  }
}

const SIGKILL = 9

/** It has cores of its own. */
function isPinned({ cgroups }: TaskSpec): boolean {
  return cgroups.some(({ write }) => write.some(([file]) => file === 'cpuset.cpus'))
}

const handlePath = ({ dir }: TaskHandle): string => join(dir, 'handle.json')
/** What the agent itself has; its supervisors inherit it. */
async function readOomScore(): Promise<number> {
  return Number(await readFile('/proc/self/oom_score_adj', 'utf8').catch(() => '0'))
}

const specPath = ({ dir }: TaskHandle): string => join(dir, 'spec.json')
const withdrawnPath = ({ dir }: TaskHandle): string => join(dir, 'withdrawn.json')

async function readSpec(handle: TaskHandle): Promise<TaskSpec | undefined> {
  for (const path of [specPath(handle), withdrawnPath(handle)]) {
    try {
      // Written by `start` in a directory that only the agent's user can read.
      return JSON.parse(await readFile(path, 'utf8')) as TaskSpec
    } catch (thrown) {
      if (!isMissing(thrown) && !(thrown instanceof SyntaxError)) throw thrown
    }
  }
  return undefined
}

async function readLauncher(path: string): Promise<ProcessRef | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '')
  try {
    const { pid, startTime }: Partial<ProcessRef> = JSON.parse(text)
    return typeof pid === 'number' && typeof startTime === 'number' ? { pid, startTime } : undefined
  } catch {
    return undefined
  }
}

function isolationTrouble(answer: LauncherAnswer): string {
  const said = answer['isolation']
  return typeof said === 'string' ? said : 'the helper cannot tell whether tasks can be isolated'
}

function isMount(value: unknown): value is CgroupMount {
  return typeof value === 'object' && value !== null && 'path' in value && 'controllers' in value
}

const START_KINDS: Readonly<Record<string, string>> = {
  'helper-config': 'task-config',
  'helper-unstartable': 'task-unstartable',
}

function startFault(thrown: unknown): Fault {
  const kind = thrown instanceof Fault ? (START_KINDS[thrown.kind] ?? 'task-start') : 'task-start'
  return new Fault(kind, errorMessage(thrown), { cause: thrown })
}
