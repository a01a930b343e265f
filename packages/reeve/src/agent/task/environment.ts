import { GLOBAL_REGION, TASK_ENVIRONMENT_PREFIX } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { TaskIsolation } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { AllocationNetwork } from '../network/allocation-network.ts'
import type { NodeFacts } from '../node-facts.ts'
import { ownValue } from '../own-value.ts'
import type { TaskPaths, Workspace } from '../store/workspace.ts'
import { Interpolator } from './interpolate.ts'
import { nodeLookup } from './node-lookup.ts'

interface EnvironmentInput {
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly node: NodeFacts
  /** As the machine names them. */
  readonly paths: TaskPaths
  readonly isolation: TaskIsolation
  /** That of the allocation, where it has one of its own. */
  readonly network?: AllocationNetwork | undefined
}

export interface TaskEnvironment {
  readonly env: Readonly<Record<string, string>>
  /** Resolves references in the task's other texts; node values come before variables. */
  readonly interpolator: Interpolator
  /** What is known about the node by name: `node.datacenter`, `attr.cpu.arch`, `meta.rack`. */
  readonly nodeValue: (name: string) => string | undefined
}

/** Where programs are looked for when the task does not say. Never the agent's own path. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * The whole environment of a task, built from nothing: the agent's own variables never reach it.
 * Later wins of product variables, meta, the task's own.
 */
export function buildEnvironment(input: EnvironmentInput): TaskEnvironment {
  const { assignment, task } = input
  const { job, group } = assignment
  refuseTooMany([task.Env, job.Meta, group.Meta, task.Meta])
  // An image says itself where its programs are.
  const product: Vars = new Map(input.isolation === 'image' ? [] : [['PATH', DEFAULT_PATH]])
  addIdentity(product, input)
  addResources(product, input)
  addPorts(product, input)
  addMeta(product, mergedMeta(input))

  const nodeValue = nodeLookup(input.node)
  const base = new Interpolator((name) => nodeValue(name) ?? product.get(name))
  const vars: Vars = new Map(product)
  for (const [name, value] of Object.entries(input.task.Env ?? {})) {
    if (PROTECTED.has(name)) continue
    const text = base.text(value, `Env.${name}`)
    vars.set(name, text)
  }
  return environmentOf(vars, nodeValue)
}

/** The variables of a group, which its tasks share: for services and networks of the group. */
export function groupEnvironment(
  assignment: Assignment,
  host: { readonly workspace: Pick<Workspace, 'paths'>; node(): NodeFacts },
): TaskEnvironment {
  const [first] = assignment.group.Tasks
  const task = { ...first, Name: '', Env: null, Meta: null } as AgentTask // a group has a task
  const paths = host.workspace.paths({ allocationId: assignment.allocation.ID, task: '' })
  return buildEnvironment({ assignment, task, node: host.node(), paths, isolation: 'none' })
}

/** The same with what hooks add: devices, rendered files. They win over what the job says. */
export function withVariables(
  base: TaskEnvironment,
  added: Readonly<Record<string, string>>,
): TaskEnvironment {
  refuseTooMany([added])
  const vars: Vars = new Map(Object.entries(base.env))
  for (const [name, value] of Object.entries(added)) if (!PROTECTED.has(name)) vars.set(name, value)
  return environmentOf(vars, base.nodeValue)
}

function environmentOf(vars: Vars, nodeValue: TaskEnvironment['nodeValue']): TaskEnvironment {
  refuseUnpassable(vars)
  const interpolator = new Interpolator((name) => nodeValue(name) ?? vars.get(name))
  return { env: Object.fromEntries(vars), interpolator, nodeValue }
}

type Vars = Map<string, string>

/** Before anything is built of them: 300,000 variables take the event loop three seconds. */
function refuseTooMany(maps: readonly (Readonly<Record<string, string>> | null)[]): void {
  const count = maps.reduce((sum, map) => sum + Object.keys(map ?? {}).length, 0)
  const most = AGENT_LIMITS.environmentVariablesMax
  if (count <= most) return
  const message = `env and meta of the task have ${count} entries; at most ${most} can be variables`
  throw new Fault('task-invalid', message)
}

/** The kernel ends names at `=` and values at NUL. */
function refuseUnpassable(vars: Vars): void {
  for (const [name, value] of vars) {
    if (name !== '' && !/[=\0]/.test(name) && !value.includes('\0')) continue
    throw new Fault('task-invalid', `${JSON.stringify(name)} cannot be an environment variable`)
  }
}

const named = (suffix: string): string => `${TASK_ENVIRONMENT_PREFIX}${suffix}`

/** The variables by which processes of a task are told from others. */
export const ALLOCATION_MARK = named('ALLOC_ID')
export const TASK_MARK = named('TASK_NAME')

/** A task may change any variable but these: they find its processes when it is stopped. */
const PROTECTED: ReadonlySet<string> = new Set([ALLOCATION_MARK, TASK_MARK])

function addIdentity(vars: Vars, input: EnvironmentInput): void {
  const { assignment, task, node } = input
  const { allocation, job, group } = assignment
  const seen = seenPaths(input)
  vars.set(named('ALLOC_DIR'), seen.allocDir)
  vars.set(named('TASK_DIR'), seen.localDir)
  vars.set(named('SECRETS_DIR'), seen.secretsDir)
  vars.set(ALLOCATION_MARK, allocation.ID)
  vars.set(named('SHORT_ALLOC_ID'), allocation.ID.slice(0, 8))
  vars.set(named('ALLOC_NAME'), allocation.Name)
  vars.set(named('ALLOC_INDEX'), /\[(\d+)\]$/.exec(allocation.Name)?.[1] ?? '0')
  vars.set(TASK_MARK, task.Name)
  vars.set(named('GROUP_NAME'), group.Name)
  vars.set(named('JOB_ID'), job.ID)
  vars.set(named('JOB_NAME'), job.Name)
  if (job.ParentID !== '') vars.set(named('JOB_PARENT_ID'), job.ParentID)
  vars.set(named('NAMESPACE'), allocation.Namespace)
  // A job of several regions is in `global`; its task is in one of them.
  vars.set(named('REGION'), job.Region === GLOBAL_REGION ? node.Region : job.Region)
  vars.set(named('DC'), node.Datacenter)
  vars.set(named('NODE_ID'), node.ID)
  vars.set(named('NODE_NAME'), node.Name)
  if (node.CgroupParent !== undefined && node.CgroupParent !== '')
    vars.set(named('PARENT_CGROUP'), node.CgroupParent)
}

/** As the task sees them. */
function seenPaths({
  paths,
  isolation,
}: EnvironmentInput): Pick<TaskPaths, 'allocDir' | 'localDir' | 'secretsDir'> {
  if (isolation === 'none') return paths
  return { allocDir: '/alloc', localDir: '/local', secretsDir: '/secrets' }
}

function addResources(vars: Vars, { assignment, task }: EnvironmentInput): void {
  const granted = ownValue(assignment.allocation.AllocatedResources.Tasks, task.Name)
  const memoryMB = granted?.Memory.MemoryMB ?? task.Resources.MemoryMB
  const memoryMaxMB = granted?.Memory.MemoryMaxMB ?? task.Resources.MemoryMaxMB
  vars.set(named('CPU_LIMIT'), String(granted?.Cpu.CpuShares ?? task.Resources.CPU))
  vars.set(named('MEMORY_LIMIT'), String(memoryMB))
  if (memoryMaxMB > 0) vars.set(named('MEMORY_MAX_LIMIT'), String(memoryMaxMB))
  const cores = granted?.Cpu.ReservedCores ?? []
  if (cores.length > 0) vars.set(named('CPU_CORES'), rangesOf(cores))
}

/** `0-2,7` of 0, 1, 2, 7. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of [...numbers].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && number <= last[1] + 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

interface PortGrant {
  readonly label: string
  readonly hostIp: string
  readonly hostPort: number
  /** What the program should listen on. */
  readonly port: number
}

function addPorts(vars: Vars, { assignment, task, network }: EnvironmentInput): void {
  const granted = assignment.allocation.AllocatedResources
  for (const { Label, HostIP, Value, To } of granted.Shared.Ports ?? []) {
    const port = To > 0 ? To : Value
    addPort(vars, { label: Label, hostIp: HostIP, hostPort: Value, port })
    if (network === undefined || network.address === '') continue
    addInside(vars, { label: safeName(Label), port, network })
  }
  // The older form, in which ports belong to a task: the task's own also without its name.
  for (const [owner, { Networks }] of Object.entries(granted.Tasks)) {
    for (const { IP, ReservedPorts, DynamicPorts } of Networks ?? []) {
      const ports = [...(ReservedPorts ?? []), ...(DynamicPorts ?? [])]
      for (const { Label, Value, To } of ports) {
        const port = { hostIp: IP, hostPort: Value, port: To > 0 ? To : Value }
        if (owner === task.Name) addPort(vars, { ...port, label: Label })
        addAddress(vars, { ...port, label: `${owner}_${Label}` })
      }
    }
  }
}

function addPort(vars: Vars, grant: PortGrant): void {
  const label = safeName(grant.label)
  addAddress(vars, grant)
  vars.set(named(`HOST_IP_${label}`), grant.hostIp)
  vars.set(named(`HOST_PORT_${label}`), String(grant.hostPort))
  vars.set(named(`HOST_ADDR_${label}`), addressOf(grant))
  vars.set(named(`ALLOC_PORT_${label}`), String(grant.port))
}

/** Where the allocation is reached inside its own network. */
function addInside(vars: Vars, inside: InsidePort): void {
  const { label, port, network } = inside
  vars.set(named(`ALLOC_INTERFACE_${label}`), network.interfaceName)
  vars.set(named(`ALLOC_IP_${label}`), network.address)
  vars.set(named(`ALLOC_ADDR_${label}`), `${network.address}:${port}`)
}

interface InsidePort {
  readonly label: string
  readonly port: number
  readonly network: AllocationNetwork
}

function addAddress(vars: Vars, grant: PortGrant): void {
  const label = safeName(grant.label)
  vars.set(named(`IP_${label}`), grant.hostIp)
  vars.set(named(`PORT_${label}`), String(grant.port))
  vars.set(named(`ADDR_${label}`), addressOf(grant))
}

function addressOf({ hostIp, hostPort }: PortGrant): string {
  return hostIp.includes(':') ? `[${hostIp}]:${hostPort}` : `${hostIp}:${hostPort}`
}

function mergedMeta({ assignment, task }: EnvironmentInput): Readonly<Record<string, string>> {
  const { job, group } = assignment
  // What a dispatch could have brought and did not is there, and empty.
  const optional = (job.ParameterizedJob?.MetaOptional ?? []).map((key) => [key, ''] as const)
  return { ...Object.fromEntries(optional), ...job.Meta, ...group.Meta, ...task.Meta }
}

function addMeta(vars: Vars, meta: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(meta)) {
    const name = safeName(key)
    vars.set(named(`META_${name}`), value)
    vars.set(named(`META_${name.toUpperCase()}`), value)
  }
}

/** Labels and keys are written by users, names of variables are narrower. */
function safeName(text: string): string {
  return text.replace(/[^A-Za-z0-9_.]/g, '_')
}
