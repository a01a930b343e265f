import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TaskResources } from '../../agent/index.ts'
import type { Launcher } from './launcher.ts'

/** A mounted cgroup hierarchy, as reported by `probe` of the helper. */
export interface CgroupMount {
  readonly path: string
  readonly version: number
  /** Separated by commas (v1) or spaces (v2). */
  readonly controllers: string
  readonly writable: boolean
}

/** Parent directories of the cgroups of tasks. */
export interface CgroupLayout {
  readonly kind: 'v1' | 'hybrid' | 'v2' | 'none'
  /** Directory for tasks by v1 controller. */
  readonly v1: Readonly<Record<string, string>>
  /** Directory for tasks in the v2 hierarchy, and the available controllers. */
  readonly v2: { readonly dir: string; readonly controllers: readonly string[] } | undefined
}

const V1_CONTROLLERS = ['memory', 'cpu', 'cpuacct', 'cpuset', 'pids', 'freezer']
/** Name of the parent cgroup of all tasks in each hierarchy. */
export const CGROUP_PARENT = 'reeve'

/**
 * Each controller is in exactly one hierarchy. On a hybrid host most are in v1, and v2 is only used
 * to kill processes and to measure CPU time.
 */
export function detectLayout(mounts: readonly CgroupMount[]): CgroupLayout {
  const writableMounts = mounts.filter(({ writable }) => writable)
  const v1 = writableMounts
    .filter(({ version }) => version === 1)
    .flatMap(({ path, controllers }) =>
      controllers
        .split(',')
        .filter((name) => V1_CONTROLLERS.includes(name))
        .map((name) => [name, `${path}/${CGROUP_PARENT}`] as const),
    )
  const unified = writableMounts.find(({ version }) => version === 2)
  const v2 =
    unified === undefined
      ? undefined
      : {
          dir: `${unified.path}/${CGROUP_PARENT}`,
          controllers: unified.controllers.split(' ').filter((name) => name !== ''),
        }
  const kind =
    v1.length === 0 ? (v2 === undefined ? 'none' : 'v2') : v2 === undefined ? 'v1' : 'hybrid'
  return { kind, v1: Object.fromEntries(v1), v2 }
}

/** The cgroups of a task spec (native/PROTOCOL.md, section 2). */
export interface CgroupSpec {
  readonly cgroups: readonly { readonly path: string; readonly write: readonly CgroupWrite[] }[]
  readonly killCgroup?: string
  readonly oomFile?: string
  readonly shimCgroups: readonly string[]
}

/** File and value; with `try`, a failure is ignored. */
type CgroupWrite = readonly [string, string] | readonly [string, string, 'try']

interface CgroupInput {
  readonly id: string
  readonly resources: TaskResources
  /** False: cgroups are only used to kill and to measure. */
  readonly hasLimits: boolean
  /** Enforces the CPU share as a limit; otherwise it is a weight. */
  readonly hasHardCpuLimit: boolean
  readonly pidsMax: number
  readonly coreCount: number
}

const BYTES_PER_MB = 1024 * 1024
const CPU_PERIOD_US = 100_000
const CPU_QUOTA_MIN_US = 1_000
const CPU_SHARES_MIN = 2
const CPU_SHARES_MAX = 262_144

export function planCgroups(layout: CgroupLayout, input: CgroupInput): CgroupSpec {
  const { id } = input
  const writesByPath = new Map<string, CgroupWrite[]>()
  const add = (dir: string | undefined, writes: readonly CgroupWrite[]): void => {
    if (dir === undefined) return
    const path = `${dir}/${id}`
    writesByPath.set(path, [...(writesByPath.get(path) ?? []), ...writes])
  }
  const { v1, v2 } = layout
  if (v2 !== undefined) {
    add(v2.dir, input.hasLimits ? cgroupV2Writes(v2.controllers, input) : [])
    if (v2.controllers.includes('cpuset')) add(v2.dir, cpusetWrites(input))
  }
  for (const [controller, dir] of Object.entries(v1)) {
    if (isControllerNeeded(controller, layout, input)) {
      if (controller === 'cpuset') add(dir, cpusetWrites(input))
      else add(dir, input.hasLimits ? cgroupV1Writes(controller, input) : [])
    }
  }
  const killDir = v2?.dir ?? v1['freezer'] ?? v1['pids'] ?? v1['memory']
  const oomPath = oomFilePath(layout, id)
  return {
    cgroups: [...writesByPath].map(([path, write]) => ({ path, write })),
    ...(killDir === undefined ? {} : { killCgroup: `${killDir}/${id}` }),
    ...(oomPath === undefined ? {} : { oomFile: oomPath }),
    shimCgroups: shimCgroups(layout),
  }
}

/** Each cgroup slows down the start of a task, so only the necessary ones are created. */
function isControllerNeeded(controller: string, { v2 }: CgroupLayout, input: CgroupInput): boolean {
  switch (controller) {
    case 'freezer':
      return v2 === undefined
    case 'cpuset':
      return input.resources.cores.length > 0
    case 'cpu':
    case 'pids':
      return input.hasLimits
    default:
      return true
  }
}

function memoryLimitMB({ memoryMB, memoryMaxMB }: TaskResources): number {
  return Math.max(memoryMB, memoryMaxMB)
}

function cgroupV2Writes(controllers: readonly string[], input: CgroupInput): CgroupWrite[] {
  const { resources, hasHardCpuLimit, pidsMax, coreCount } = input
  const has = (name: string): boolean => controllers.includes(name)
  const limit = String(memoryLimitMB(resources) * BYTES_PER_MB)
  const reserved = String(resources.memoryMB * BYTES_PER_MB)
  const writes: CgroupWrite[] = []
  if (has('memory')) {
    writes.push(['memory.max', limit], ['memory.swap.max', '0', 'try'])
    if (resources.memoryMaxMB > resources.memoryMB) writes.push(['memory.low', reserved, 'try'])
    writes.push(['memory.oom.group', '1', 'try'])
  }
  if (has('cpu')) {
    writes.push(['cpu.weight', String(cpuWeightOf(resources.cpuMHz))])
    if (hasHardCpuLimit)
      writes.push(['cpu.max', `${cpuQuotaUs(resources, coreCount)} ${CPU_PERIOD_US}`])
  }
  if (has('pids')) writes.push(['pids.max', String(pidsMax)])
  return writes
}

/** Reserved cores apply to tasks without limits too. */
function cpusetWrites({ resources: { cores } }: CgroupInput): CgroupWrite[] {
  return cores.length === 0 ? [] : [['cpuset.cpus', cores.join(',')]]
}

function cgroupV1Writes(controller: string, input: CgroupInput): CgroupWrite[] {
  const { resources, hasHardCpuLimit, pidsMax, coreCount } = input
  const limit = String(memoryLimitMB(resources) * BYTES_PER_MB)
  switch (controller) {
    case 'memory':
      return [
        ['memory.limit_in_bytes', limit],
        // The memory limit again, written after the other one: no swap. Not all kernels account
        // swap.
        ['memory.memsw.limit_in_bytes', limit, 'try'],
        ...(resources.memoryMaxMB > resources.memoryMB
          ? [
              [
                'memory.soft_limit_in_bytes',
                String(resources.memoryMB * BYTES_PER_MB),
                'try',
              ] as const,
            ]
          : []),
      ]
    case 'cpu':
      return [
        ['cpu.shares', String(cpuSharesOf(resources.cpuMHz))],
        ...(hasHardCpuLimit
          ? [
              ['cpu.cfs_period_us', String(CPU_PERIOD_US)] as const,
              ['cpu.cfs_quota_us', String(cpuQuotaUs(resources, coreCount))] as const,
            ]
          : []),
      ]
    case 'pids':
      return [['pids.max', String(pidsMax)]]
    default:
      return []
  }
}

function cpuSharesOf(cpuMHz: number): number {
  return Math.min(CPU_SHARES_MAX, Math.max(CPU_SHARES_MIN, Math.round(cpuMHz)))
}

/** Conversion of the kernel from v1 shares to v2 weights. */
function cpuWeightOf(cpuMHz: number): number {
  return (
    1 +
    Math.floor(((cpuSharesOf(cpuMHz) - CPU_SHARES_MIN) * 9_999) / (CPU_SHARES_MAX - CPU_SHARES_MIN))
  )
}

function cpuQuotaUs({ cpuFraction }: TaskResources, coreCount: number): number {
  return Math.max(CPU_QUOTA_MIN_US, Math.round(cpuFraction * coreCount * CPU_PERIOD_US))
}

function oomFilePath({ v1, v2 }: CgroupLayout, id: string): string | undefined {
  if (v1['memory'] !== undefined) return `${v1['memory']}/${id}/memory.oom_control`
  return v2?.controllers.includes('memory') === true ? `${v2.dir}/${id}/memory.events` : undefined
}

/**
 * Returns the cgroups for shims: outside of the agent's cgroup, which a service manager may kill as
 * a whole.
 */
export function shimCgroups({ v1, v2 }: CgroupLayout): readonly string[] {
  const dirs = [v2?.dir, v1['pids'], v1['memory']]
  return dirs.flatMap((dir) => (dir === undefined ? [] : [`${dir}/shims`]))
}

const REQUIRED_CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids']

/**
 * Creates the parent cgroups of tasks and delegates the controllers to them. Returns the resulting
 * layout without controllers that could not be delegated.
 */
export async function prepareParentCgroups(layout: CgroupLayout): Promise<CgroupLayout> {
  for (const [controller, dir] of Object.entries(layout.v1)) {
    await mkdir(dir, { recursive: true }).catch(() => undefined)
    if (controller === 'cpuset') await inheritCpuset(dir)
  }
  const { v2 } = layout
  if (v2 === undefined) return layout
  await mkdir(v2.dir, { recursive: true }).catch(() => undefined)
  const controllers: string[] = []
  for (const controller of v2.controllers.filter((name) => REQUIRED_CONTROLLERS.includes(name))) {
    // The parent first: a cgroup only has controllers that its parent delegates.
    const isDelegated =
      (await delegateController(dirname(v2.dir), controller)) &&
      (await delegateController(v2.dir, controller))
    if (isDelegated) controllers.push(controller)
  }
  return { ...layout, v2: { ...v2, controllers } }
}

async function delegateController(dir: string, controller: string): Promise<boolean> {
  try {
    await writeFile(join(dir, 'cgroup.subtree_control'), `+${controller}`)
    return true
  } catch {
    // EBUSY: the cgroup itself contains processes. ENOENT: it is another hierarchy.
    return false
  }
}

/**
 * Copies the cores and memory nodes of the parent: a v1 cgroup without them accepts no processes.
 */
async function inheritCpuset(dir: string): Promise<void> {
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    try {
      const value = (await readFile(join(dir, name), 'utf8')).trim()
      if (value === '') await writeFile(join(dir, name), await readFile(join(dirname(dir), name)))
      await writeFile(join(dir, 'cgroup.clone_children'), '1')
    } catch {
      // If this is not permitted, tasks may use all cores; the start reports an error.
    }
  }
}

/** Timeout for processes of a remaining cgroup to disappear after SIGKILL. */
const KILL_CGROUP_TIMEOUT_MS = 5_000

/** Placeholder for an unknown process: only the cgroup is killed. */
const NO_PROCESS = {
  shimPid: 0,
  shimStartTime: 0,
  pid: 0,
  startTime: 0,
  taskPid: 0,
  taskStartTime: 0,
} as const

/** Kills all processes in remaining cgroups, and removes the cgroups. */
export async function killAndRemoveCgroups(
  launcher: Launcher,
  layout: CgroupLayout,
  shouldKill: (name: string) => boolean,
): Promise<void> {
  const paths = await findCgroups(layout, shouldKill)
  for (const killCgroup of paths) {
    const request = { ...NO_PROCESS, killCgroup, timeoutMs: KILL_CGROUP_TIMEOUT_MS }
    await launcher.request('killTree', request, 3 * KILL_CGROUP_TIMEOUT_MS)
  }
  if (paths.length > 0) await launcher.request('removeCgroups', { paths })
}

/** Returns the paths of cgroups with matching names in all hierarchies. */
export async function findCgroups(
  layout: CgroupLayout,
  matches: (name: string) => boolean,
): Promise<readonly string[]> {
  const dirs = new Set([layout.v2?.dir ?? [], Object.values(layout.v1)].flat())
  const paths: string[] = []
  for (const dir of dirs) {
    // The hierarchy has no cgroups of this agent.
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    const matching = entries.filter((entry) => entry.isDirectory() && matches(entry.name))
    paths.push(...matching.map(({ name }) => join(dir, name)))
  }
  return paths
}
