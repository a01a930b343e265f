import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../../agent/index.ts'
import type { CgroupLayout } from './cgroup-plan.ts'
import type { HandleRecord } from './records.ts'

/** A task forks while its processes are moved; one that forks without end is not followed. */
const MOVE_PASSES_MAX = 5

/**
 * Keeps the tasks that have no cores of their own off those that others have reserved. In version 2
 * the group of each task says where it runs. In version 1 they share one group of the `cpuset`
 * hierarchy, which exists only once something was reserved: a further group would cost every start.
 */
export class SharedCores {
  readonly #owner: string
  readonly #layout: () => Promise<CgroupLayout | undefined>
  readonly #tasks = new Map<string, HandleRecord>()
  #cores: readonly number[] = []
  /** The last change: they are applied one after the other. */
  #applied: Promise<void> = Promise.resolve()

  constructor(owner: string, layout: () => Promise<CgroupLayout | undefined>) {
    this.#owner = owner
    this.#layout = layout
  }

  /** As `TaskDriver.shareCores`. */
  set(cores: readonly number[]): Promise<void> {
    if (cores.join() === this.#cores.join()) return this.#applied
    this.#cores = cores
    return this.#next(() => this.#confine([...this.#tasks.values()]))
  }

  /** A task without cores of its own runs. */
  add(id: string, record: HandleRecord): Promise<void> {
    this.#tasks.set(id, record)
    return this.#cores.length === 0 ? this.#applied : this.#next(() => this.#confine([record]))
  }

  delete(id: string): void {
    this.#tasks.delete(id)
  }

  /** Removes what no task is left in. */
  async close(): Promise<void> {
    const dir = (await this.#layout())?.v1['cpuset']
    if (dir !== undefined) await rmdir(this.#sharedGroup(dir)).catch(() => undefined)
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#applied = this.#applied.then(work)
    // Whoever waits is told; the next change is applied all the same.
    const told = this.#applied
    this.#applied = this.#applied.catch(() => undefined)
    return told
  }

  async #confine(records: readonly HandleRecord[]): Promise<void> {
    const layout = await this.#layout()
    if (layout === undefined) return
    const { v1, v2 } = layout
    if (v1['cpuset'] !== undefined) await this.#confineV1(v1['cpuset'], records)
    else if (v2?.controllers.includes('cpuset') === true) {
      for (const { cgroups } of records) {
        const group = cgroups.find((path) => path.startsWith(`${v2.dir}/`))
        // Empty: all that the group above has.
        if (group !== undefined) await write(join(group, 'cpuset.cpus'), `${this.#cores.join()}\n`)
      }
    }
  }

  async #confineV1(dir: string, records: readonly HandleRecord[]): Promise<void> {
    const shared = this.#sharedGroup(dir)
    const cores =
      this.#cores.length === 0
        ? await readFile(join(dir, 'cpuset.cpus'), 'utf8')
        : this.#cores.join()
    await mkdir(shared, { recursive: true })
    await write(join(shared, 'cpuset.mems'), await readFile(join(dir, 'cpuset.mems'), 'utf8'))
    await write(join(shared, 'cpuset.cpus'), cores)
    for (const { killCgroup } of records) await moveAll(killCgroup, shared)
  }

  #sharedGroup(dir: string): string {
    return join(dir, `share-${this.#owner}`)
  }
}

/** Moves what is in one group into another of a further hierarchy. */
async function moveAll(from: string, to: string): Promise<void> {
  if (from === '') return
  const moved = new Set<string>()
  for (let pass = 0; pass < MOVE_PASSES_MAX; pass++) {
    const pids = (await readFile(join(from, 'cgroup.procs'), 'utf8').catch(() => ''))
      .split('\n')
      .filter((pid) => pid !== '' && !moved.has(pid))
    if (pids.length === 0) return
    for (const pid of pids) {
      await write(join(to, 'cgroup.procs'), pid)
      moved.add(pid)
    }
  }
}

/** A process or a group that has gone meanwhile is not missed. */
async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (thrown) {
    const code = errorCode(thrown)
    const isGone = code === 'ESRCH' || code === 'ENODEV' || code === 'ENOENT'
    if (!isGone) throw new Error(`${dirname(path)}: ${String(thrown)}`, { cause: thrown })
  }
}
