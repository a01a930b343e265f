import { GLOBAL_REGION, TASK_ENVIRONMENT_PREFIX } from '@reeve/contract'
import { assert, Fault } from '@reeve/kit/fault.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { TaskIsolation } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { AllocationNetwork } from '../network/allocation-network.ts'
import { getOwn, newNodeAttributeLookup, type NodeInfo } from '../node-info.ts'
import type { TaskPaths, Workspace } from '../store/workspace.ts'
import { Interpolator } from './interpolate.ts'

interface EnvironmentInput {
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly node: NodeInfo
  /** Host paths of the task's directories. */
  readonly hostPaths: TaskPaths
  readonly isolation: TaskIsolation
  /** Network of the allocation, if it has its own. */
  readonly network?: AllocationNetwork | undefined
}

export interface TaskEnvironment {
  readonly env: Readonly<Record<string, string>>
  /** Resolves references in other fields of the task; node attributes precede variables. */
  readonly interpolator: Interpolator
  /** Looks up a node attribute: `node.datacenter`, `attr.cpu.arch`, `meta.rack`. */
  readonly nodeAttribute: (name: string) => string | undefined
}

/** PATH of tasks that set none. Never the agent's own. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Builds the whole environment of a task; no variable of the agent is included. Precedence, lowest
 * first: product variables, meta, `env` of the task.
 */
export function buildEnvironment(input: EnvironmentInput): TaskEnvironment {
  const { assignment, task } = input
  const { job, group } = assignment
  requireVariableCount([task.Env, job.Meta, group.Meta, task.Meta])
  // An image sets its own PATH.
  const variables: Variables = new Map(input.isolation === 'image' ? [] : [['PATH', DEFAULT_PATH]])
  addIdentity(variables, input)
  addResources(variables, input)
  addPorts(variables, input)
  addMeta(variables, mergeMeta(input))
  addAliases(variables, input.node.aliases?.environmentPrefixes ?? [])

  const nodeAttribute = newNodeAttributeLookup(input.node)
  const baseInterpolator = new Interpolator((name) => nodeAttribute(name) ?? variables.get(name))
  const withJobVariables: Variables = new Map(variables)
  for (const [name, value] of Object.entries(input.task.Env ?? {})) {
    if (PROTECTED_VARIABLES.has(name)) continue
    const resolved = baseInterpolator.resolve(value, `Env.${name}`)
    withJobVariables.set(name, resolved)
  }
  return finishEnvironment(withJobVariables, nodeAttribute)
}

/** Environment of a group, for services and networks of the group. */
export function buildGroupEnvironment(
  assignment: Assignment,
  host: { readonly workspace: Pick<Workspace, 'paths'>; nodeInfo(): NodeInfo },
): TaskEnvironment {
  const [firstTask] = assignment.group.Tasks
  assert(firstTask !== undefined, 'a group has a task')
  const task: AgentTask = { ...firstTask, Name: '', Env: null, Meta: null }
  const paths = host.workspace.paths({ allocationId: assignment.allocation.ID, task: '' })
  return buildEnvironment({
    assignment,
    task,
    node: host.nodeInfo(),
    hostPaths: paths,
    isolation: 'none',
  })
}

/** Adds variables of hooks, such as devices and rendered files. They override those of the job. */
export function withVariables(
  base: TaskEnvironment,
  additions: Readonly<Record<string, string>>,
): TaskEnvironment {
  requireVariableCount([additions])
  const vars: Variables = new Map(Object.entries(base.env))
  for (const [name, value] of Object.entries(additions))
    if (!PROTECTED_VARIABLES.has(name)) vars.set(name, value)
  return finishEnvironment(vars, base.nodeAttribute)
}

function finishEnvironment(
  vars: Variables,
  nodeAttribute: TaskEnvironment['nodeAttribute'],
): TaskEnvironment {
  validateVariables(vars)
  const interpolator = new Interpolator((name) => nodeAttribute(name) ?? vars.get(name))
  return { env: Object.fromEntries(vars), interpolator, nodeAttribute }
}

/** Adds the product variables under each prefix that job files may have been written for. */
function addAliases(vars: Variables, prefixes: readonly string[]): void {
  const ownVariables = [...vars].filter(([name]) => name.startsWith(TASK_ENVIRONMENT_PREFIX))
  for (const prefix of prefixes)
    for (const [name, value] of ownVariables)
      vars.set(`${prefix}${name.slice(TASK_ENVIRONMENT_PREFIX.length)}`, value)
}

type Variables = Map<string, string>

/**
 * Checked before the environment is built: 300,000 variables block the event loop for three
 * seconds.
 */
function requireVariableCount(maps: readonly (Readonly<Record<string, string>> | null)[]): void {
  const count = maps.reduce((sum, map) => sum + Object.keys(map ?? {}).length, 0)
  const max = AGENT_LIMITS.environmentVariablesMax
  if (count <= max) return
  const message = `env and meta of the task have ${count} entries; at most ${max} can be variables`
  throw new Fault('task-invalid', message)
}

/**
 * Rejects variables that cannot be passed to a process: the kernel ends names at `=` and values at
 * NUL.
 */
function validateVariables(vars: Variables): void {
  for (const [name, value] of vars) {
    if (name !== '' && !/[=\0]/.test(name) && !value.includes('\0')) continue
    throw new Fault('task-invalid', `${JSON.stringify(name)} cannot be an environment variable`)
  }
}

const variableName = (suffix: string): string => `${TASK_ENVIRONMENT_PREFIX}${suffix}`

/** Variables that identify the processes of a task. */
export const ALLOCATION_ENV_KEY = variableName('ALLOC_ID')
export const TASK_ENV_KEY = variableName('TASK_NAME')

/** Variables that a task cannot override: they identify its processes when it is stopped. */
const PROTECTED_VARIABLES: ReadonlySet<string> = new Set([ALLOCATION_ENV_KEY, TASK_ENV_KEY])

function addIdentity(vars: Variables, input: EnvironmentInput): void {
  const { assignment, task, node } = input
  const { allocation, job, group } = assignment
  const taskPaths = pathsInTask(input)
  vars.set(variableName('ALLOC_DIR'), taskPaths.allocDir)
  vars.set(variableName('TASK_DIR'), taskPaths.localDir)
  vars.set(variableName('SECRETS_DIR'), taskPaths.secretsDir)
  vars.set(ALLOCATION_ENV_KEY, allocation.ID)
  vars.set(variableName('SHORT_ALLOC_ID'), allocation.ID.slice(0, 8))
  vars.set(variableName('ALLOC_NAME'), allocation.Name)
  vars.set(variableName('ALLOC_INDEX'), /\[(\d+)\]$/.exec(allocation.Name)?.[1] ?? '0')
  vars.set(TASK_ENV_KEY, task.Name)
  vars.set(variableName('GROUP_NAME'), group.Name)
  vars.set(variableName('JOB_ID'), job.ID)
  vars.set(variableName('JOB_NAME'), job.Name)
  if (job.ParentID !== '') vars.set(variableName('JOB_PARENT_ID'), job.ParentID)
  vars.set(variableName('NAMESPACE'), allocation.Namespace)
  // The region of a multi-region job is `global`; the task runs in one of its regions.
  vars.set(variableName('REGION'), job.Region === GLOBAL_REGION ? node.Region : job.Region)
  vars.set(variableName('DC'), node.Datacenter)
  vars.set(variableName('NODE_ID'), node.ID)
  vars.set(variableName('NODE_NAME'), node.Name)
  if (node.CgroupParent !== undefined && node.CgroupParent !== '')
    vars.set(variableName('PARENT_CGROUP'), node.CgroupParent)
}

/** Paths in the task's own view. */
function pathsInTask({
  hostPaths,
  isolation,
}: EnvironmentInput): Pick<TaskPaths, 'allocDir' | 'localDir' | 'secretsDir'> {
  if (isolation === 'none') return hostPaths
  return { allocDir: '/alloc', localDir: '/local', secretsDir: '/secrets' }
}

function addResources(vars: Variables, { assignment, task }: EnvironmentInput): void {
  const assigned = getOwn(assignment.allocation.AllocatedResources.Tasks, task.Name)
  const memoryMB = assigned?.Memory.MemoryMB ?? task.Resources.MemoryMB
  const memoryMaxMB = assigned?.Memory.MemoryMaxMB ?? task.Resources.MemoryMaxMB
  vars.set(variableName('CPU_LIMIT'), String(assigned?.Cpu.CpuShares ?? task.Resources.CPU))
  vars.set(variableName('MEMORY_LIMIT'), String(memoryMB))
  if (memoryMaxMB > 0) vars.set(variableName('MEMORY_MAX_LIMIT'), String(memoryMaxMB))
  const cores = assigned?.Cpu.ReservedCores ?? []
  if (cores.length > 0) vars.set(variableName('CPU_CORES'), formatRanges(cores))
}

/** Formats 0, 1, 2, 7 as `0-2,7`. */
export function formatRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of [...numbers].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && number <= last[1] + 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

interface AssignedPort {
  readonly label: string
  readonly hostIp: string
  readonly hostPort: number
  /** Port that the program should listen on. */
  readonly taskPort: number
}

function addPorts(vars: Variables, { assignment, task, network }: EnvironmentInput): void {
  const resources = assignment.allocation.AllocatedResources
  for (const { Label, HostIP, Value, To } of resources.Shared.Ports ?? []) {
    const taskPort = To > 0 ? To : Value
    addPort(vars, { label: Label, hostIp: HostIP, hostPort: Value, taskPort })
    if (network === undefined || network.address === '') continue
    addAllocationAddress(vars, { label: toVariableName(Label), taskPort, network })
  }
  // Legacy form, in which ports belong to a task: the task's own ports are also set without its
  // name.
  for (const [ownerTask, { Networks }] of Object.entries(resources.Tasks)) {
    for (const { IP, ReservedPorts, DynamicPorts } of Networks ?? []) {
      const ports = [...(ReservedPorts ?? []), ...(DynamicPorts ?? [])]
      for (const { Label, Value, To } of ports) {
        const taskPort = { hostIp: IP, hostPort: Value, taskPort: To > 0 ? To : Value }
        if (ownerTask === task.Name) addPort(vars, { ...taskPort, label: Label })
        addHostAddress(vars, { ...taskPort, label: `${ownerTask}_${Label}` })
      }
    }
  }
}

function addPort(vars: Variables, port: AssignedPort): void {
  const label = toVariableName(port.label)
  addHostAddress(vars, port)
  vars.set(variableName(`HOST_IP_${label}`), port.hostIp)
  vars.set(variableName(`HOST_PORT_${label}`), String(port.hostPort))
  vars.set(variableName(`HOST_ADDR_${label}`), formatHostAddress(port))
  vars.set(variableName(`ALLOC_PORT_${label}`), String(port.taskPort))
}

/** Adds the address of the allocation in its own network. */
function addAllocationAddress(vars: Variables, allocationPort: AllocationPort): void {
  const { label, taskPort, network } = allocationPort
  vars.set(variableName(`ALLOC_INTERFACE_${label}`), network.interfaceName)
  vars.set(variableName(`ALLOC_IP_${label}`), network.address)
  vars.set(variableName(`ALLOC_ADDR_${label}`), `${network.address}:${taskPort}`)
}

interface AllocationPort {
  readonly label: string
  readonly taskPort: number
  readonly network: AllocationNetwork
}

function addHostAddress(vars: Variables, port: AssignedPort): void {
  const label = toVariableName(port.label)
  vars.set(variableName(`IP_${label}`), port.hostIp)
  vars.set(variableName(`PORT_${label}`), String(port.taskPort))
  vars.set(variableName(`ADDR_${label}`), formatHostAddress(port))
}

function formatHostAddress({ hostIp, hostPort }: AssignedPort): string {
  return hostIp.includes(':') ? `[${hostIp}]:${hostPort}` : `${hostIp}:${hostPort}`
}

function mergeMeta({ assignment, task }: EnvironmentInput): Readonly<Record<string, string>> {
  const { job, group } = assignment
  // Optional metadata that a dispatch did not set is empty.
  const optional = (job.ParameterizedJob?.MetaOptional ?? []).map((key) => [key, ''] as const)
  return { ...Object.fromEntries(optional), ...job.Meta, ...group.Meta, ...task.Meta }
}

function addMeta(vars: Variables, meta: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(meta)) {
    const name = toVariableName(key)
    vars.set(variableName(`META_${name}`), value)
    vars.set(variableName(`META_${name.toUpperCase()}`), value)
  }
}

/** Replaces characters of labels and keys that variable names do not allow. */
function toVariableName(text: string): string {
  return text.replace(/[^A-Za-z0-9_.]/g, '_')
}
