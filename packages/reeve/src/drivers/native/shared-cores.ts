import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../../agent/index.ts'
import type { CgroupLayout } from './cgroup.ts'
import type { HandleRecord } from './supervisor-records.ts'

/** Number of passes over the processes of a task, which may fork while they are moved. */
const MOVE_PASSES_MAX = 5

/**
 * Keeps tasks without reserved cores off the reserved ones. With cgroup v2 the cgroup of each task
 * is configured. With v1 the tasks share one cgroup of the `cpuset` hierarchy, which only exists
 * after a reservation: another cgroup would slow down every start.
 */
export class SharedCores {
  readonly #agentId: string
  readonly #getLayout: () => Promise<CgroupLayout | undefined>
  readonly #tasks = new Map<string, HandleRecord>()
  #cores: readonly number[] = []
  /** The last change; changes are serialized. */
  #lastChange: Promise<void> = Promise.resolve()

  constructor(owner: string, layout: () => Promise<CgroupLayout | undefined>) {
    this.#agentId = owner
    this.#getLayout = layout
  }

  /** As `TaskDriver.shareCores`. */
  setCores(cores: readonly number[]): Promise<void> {
    if (cores.join() === this.#cores.join()) return this.#lastChange
    this.#cores = cores
    return this.#enqueue(() => this.#confine([...this.#tasks.values()]))
  }

  /** Adds a running task without reserved cores. */
  add(id: string, record: HandleRecord): Promise<void> {
    this.#tasks.set(id, record)
    return this.#cores.length === 0
      ? this.#lastChange
      : this.#enqueue(() => this.#confine([record]))
  }

  delete(id: string): void {
    this.#tasks.delete(id)
  }

  /** Removes the shared cgroup if it is empty. */
  async close(): Promise<void> {
    const dir = (await this.#getLayout())?.v1['cpuset']
    if (dir !== undefined) await rmdir(this.#sharedCgroup(dir)).catch(() => undefined)
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#lastChange = this.#lastChange.then(work)
    // The caller gets the error; the next change is applied regardless.
    const change = this.#lastChange
    this.#lastChange = this.#lastChange.catch(() => undefined)
    return change
  }

  async #confine(records: readonly HandleRecord[]): Promise<void> {
    const layout = await this.#getLayout()
    if (layout === undefined) return
    const { v1, v2 } = layout
    if (v1['cpuset'] !== undefined) await this.#confineV1(v1['cpuset'], records)
    else if (v2?.controllers.includes('cpuset') === true) {
      for (const { cgroups } of records) {
        const cgroup = cgroups.find((path) => path.startsWith(`${v2.dir}/`))
        // An empty list means all cores of the parent cgroup.
        if (cgroup !== undefined)
          await writeCgroupFile(join(cgroup, 'cpuset.cpus'), `${this.#cores.join()}\n`)
      }
    }
  }

  async #confineV1(dir: string, records: readonly HandleRecord[]): Promise<void> {
    const sharedCgroup = this.#sharedCgroup(dir)
    const cores =
      this.#cores.length === 0
        ? await readFile(join(dir, 'cpuset.cpus'), 'utf8')
        : this.#cores.join()
    await mkdir(sharedCgroup, { recursive: true })
    await writeCgroupFile(
      join(sharedCgroup, 'cpuset.mems'),
      await readFile(join(dir, 'cpuset.mems'), 'utf8'),
    )
    await writeCgroupFile(join(sharedCgroup, 'cpuset.cpus'), cores)
    for (const { killCgroup } of records) await moveProcesses(killCgroup, sharedCgroup)
  }

  #sharedCgroup(dir: string): string {
    return join(dir, `share-${this.#agentId}`)
  }
}

/** Moves the processes of a cgroup to one in another hierarchy. */
async function moveProcesses(from: string, target: string): Promise<void> {
  if (from === '') return
  const moved = new Set<string>()
  for (let pass = 0; pass < MOVE_PASSES_MAX; pass++) {
    const pids = (await readFile(join(from, 'cgroup.procs'), 'utf8').catch(() => ''))
      .split('\n')
      .filter((pid) => pid !== '' && !moved.has(pid))
    if (pids.length === 0) return
    for (const pid of pids) {
      await writeCgroupFile(join(target, 'cgroup.procs'), pid)
      moved.add(pid)
    }
  }
}

/** Writes a cgroup file; ignores a process or cgroup that is gone. */
async function writeCgroupFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (thrown) {
    const code = errorCode(thrown)
    const hasVanished = code === 'ESRCH' || code === 'ENODEV' || code === 'ENOENT'
    if (!hasVanished) throw new Error(`${dirname(path)}: ${String(thrown)}`, { cause: thrown })
  }
}
