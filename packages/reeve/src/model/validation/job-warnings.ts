import type { Job, NetworkResource, Service, ServiceCheck, Task, TaskGroup } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { exposesIdentity } from './unsupported.ts'

/**
 * Returns warnings about a valid job that is probably not as intended. `Periodic.Spec` is not among
 * them: it is the documented field.
 */
export function jobWarnings(job: Job): readonly string[] {
  const groups = job.TaskGroups.flatMap((group) =>
    groupWarnings(group).map((text) => `Group "${group.Name}": ${text}`),
  )
  return [...promotionWarnings(job), ...groups]
}

/**
 * Promotion applies to the whole deployment, so one group that requires manual promotion delays the
 * others.
 */
function promotionWarnings(job: Job): readonly string[] {
  const canaried = job.TaskGroups.filter((group) => (group.Update?.Canary ?? 0) > 0)
  const automatic = canaried.filter((group) => group.Update?.AutoPromote === true)
  if (automatic.length === 0 || automatic.length === canaried.length) return []
  return ['auto_promote must be true for all groups to enable automatic promotion']
}

function groupWarnings(group: TaskGroup): readonly string[] {
  const parallel = group.Update?.MaxParallel ?? 0
  const exceedsCount = group.Count > 1 && parallel > group.Count
  return [
    ...(exceedsCount
      ? [
          `Update max parallel count is greater than task group count (${parallel} > ${group.Count}). A destructive change would result in the simultaneous replacement of all allocations.`,
        ]
      : []),
    ...deprecationWarnings(group),
    ...networkWarnings(group.Networks),
    ...shutdownWarnings(group),
    ...ignoredInGroup(group),
    ...unsafeIntegerWarnings('scaling policy', group.Scaling?.Policy),
    ...group.Tasks.flatMap((task) =>
      taskWarnings(task).map((text) => `Task "${task.Name}": ${text}`),
    ),
  ]
}

function deprecationWarnings(group: TaskGroup): readonly string[] {
  return [
    ...(group.MaxClientDisconnect === null
      ? []
      : ['max_client_disconnect is deprecated, use disconnect.lost_after']),
    ...(group.StopAfterClientDisconnect === null
      ? []
      : ['stop_after_client_disconnect is deprecated, use disconnect.stop_on_client_after']),
    ...(group.PreventRescheduleOnLost
      ? ['prevent_reschedule_on_lost is deprecated, use disconnect.replace']
      : []),
  ]
}

function networkWarnings(networks: readonly NetworkResource[] | null): readonly string[] {
  return (networks ?? []).some((network) => network.MBits > 0)
    ? ['mbits has been deprecated and is ignored']
    : []
}

/** Without a delay, clients may still connect to an instance that is stopping. */
function shutdownWarnings(group: TaskGroup): readonly string[] {
  const tasksServe = group.Tasks.some((task) => task.Services !== null)
  const hasServices = tasksServe || group.Services !== null
  const hasDelay =
    (group.ShutdownDelay ?? 0) > 0 || group.Tasks.some((task) => task.ShutdownDelay > 0)
  return hasServices && !hasDelay
    ? [
        'its services have no shutdown_delay, so callers may reach an allocation that is ' +
          'stopping; set shutdown_delay = "5s" in the group',
      ]
    : []
}

function taskWarnings(task: Task): readonly string[] {
  const { IOPS: iops, DiskMB: diskMB, Networks: networks } = task.Resources
  return [
    ...driverWarnings(task.Driver),
    ...(diskMB === 0
      ? []
      : ['disk resources of tasks are ignored, use the ephemeral_disk block of the group']),
    ...(iops > 0 ? ['IOPS has been deprecated and is ignored'] : []),
    ...(networks === null
      ? []
      : ['task network resources are deprecated, use the network of the group']),
    ...networkWarnings(networks),
    ...ignoredInTask(task),
    ...unsafeIntegerWarnings('config', task.Config),
    ...(task.ScalingPolicies ?? []).flatMap(({ Policy }) =>
      unsafeIntegerWarnings('scaling policy', Policy),
    ),
  ]
}

/**
 * Warns about integers that lost digits when the body was parsed; the original value is unknown.
 */
function unsafeIntegerWarnings(
  label: string,
  settings: object | null | undefined,
): readonly string[] {
  const found = findUnsafeInteger(settings)
  if (found === undefined) return []
  const explanation = `whole numbers beyond 2^53 lose digits, and ${found.value} is kept`
  return [`${label} ${found.path}: ${explanation}; write it as a string`]
}

/** An identifier without quotes in a job file is a reference, not a driver's name. */
function driverWarnings(driver: string): readonly string[] {
  return driver.startsWith('${')
    ? [
        `driver "${driver}" is a reference, and no node has a driver of that name: write the name in quotes`,
      ]
    : []
}

/**
 * Returns warnings for arguments that are stored and returned but have no effect at run time
 * (decision 0087). Purely descriptive arguments, such as `meta` of a service, are not included.
 */
function ignoredInGroup(group: TaskGroup): readonly string[] {
  return [
    ...ignoredInUpdate(group),
    ...(group.RestartPolicy.RenderTemplates
      ? ['restart: render_templates has no effect, templates are rendered at every start']
      : []),
    ...(group.Networks ?? []).flatMap(ignoredInNetwork),
    ...(group.Services ?? []).flatMap(ignoredInService),
  ]
}

/** Values of `stagger` in canonical jobs that do not set it. */
const DEFAULT_STAGGERS_NS: readonly number[] = [0, nsFromMs(30_000)]

function ignoredInUpdate({ Update: update }: TaskGroup): readonly string[] {
  if (update === null || DEFAULT_STAGGERS_NS.includes(update.Stagger)) return []
  return ['update: stagger has no effect, min_healthy_time sets the pace of an update']
}

function ignoredInNetwork(network: NetworkResource): readonly string[] {
  const { Device, CIDR, IP, CNI, Mode } = network
  const names = Object.entries({ device: Device, cidr: CIDR, ip: IP })
    .filter(([, value]) => value !== '')
    .map(([name]) => name)
  return [
    ...names.map(
      (name) => `network: ${name} has no effect, choose the address with host_network of a port`,
    ),
    ...(CNI === null || Mode.startsWith('cni/')
      ? []
      : ['network: cni has no effect unless mode is "cni/<name>"']),
  ]
}

function ignoredInTask(task: Task): readonly string[] {
  const { NUMA: numa, Networks } = task.Resources
  return [
    ...(task.Identity === null || exposesIdentity(task.Identity)
      ? []
      : ['identity has no effect, workload identity tokens are not supported']),
    ...(numa?.Affinity === 'prefer'
      ? ['numa: affinity = "prefer" has no effect, nodes do not report their topology']
      : []),
    ...(numa === null || numa.Devices === null
      ? []
      : ['numa: devices has no effect, nodes do not report their topology']),
    ...(Networks ?? []).flatMap(ignoredInNetwork),
    ...(task.Services ?? []).flatMap(ignoredInService),
  ]
}

function ignoredInService(service: Service): readonly string[] {
  const names = [
    ...(service.Weights === null ? [] : ['weights']),
    ...(service.TaggedAddresses === null ? [] : ['tagged_addresses']),
    ...(service.EnableTagOverride ? ['enable_tag_override'] : []),
  ]
  const reason = 'has no effect in the built-in catalogue'
  return [
    ...names.map((name) => `service "${service.Name}": ${name} ${reason}`),
    ...(service.Checks ?? []).flatMap((check) =>
      ignoredInCheck(check).map((text) => `service "${service.Name}": ${text}`),
    ),
  ]
}

const HTTP_ONLY = ['path', 'protocol', 'method', 'body', 'header']
const TLS_ONLY = ['tls_skip_verify', 'tls_server_name']
const SCRIPT_ONLY = ['command', 'args']
const GRPC_ONLY = ['grpc_service', 'grpc_use_tls']
const ADDRESS_ONLY = ['port', 'address_mode']

/** Arguments that checks of a type ignore. */
const IGNORED_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  http: [...SCRIPT_ONLY, ...GRPC_ONLY],
  tcp: [...HTTP_ONLY, ...TLS_ONLY, ...SCRIPT_ONLY, ...GRPC_ONLY],
  grpc: [...HTTP_ONLY, ...SCRIPT_ONLY],
  script: [...HTTP_ONLY, ...TLS_ONLY, ...GRPC_ONLY, ...ADDRESS_ONLY],
}

function ignoredInCheck(check: ServiceCheck): readonly string[] {
  const isSet: Readonly<Record<string, boolean>> = {
    path: check.Path !== '',
    protocol: check.Protocol !== '',
    method: check.Method !== '',
    body: check.Body !== '',
    header: check.Header !== null,
    tls_skip_verify: check.TLSSkipVerify,
    tls_server_name: check.TLSServerName !== '',
    command: check.Command !== '',
    args: check.Args !== null,
    grpc_service: check.GRPCService !== '',
    grpc_use_tls: check.GRPCUseTLS,
    port: check.PortLabel !== '',
    address_mode: check.AddressMode !== '',
  }
  return (IGNORED_BY_TYPE[check.Type] ?? [])
    .filter((name) => isSet[name] === true)
    .map((name) => `${name} has no effect on checks of type ${check.Type}`)
}

/** An integer beyond the safe range, with its path: `check[0].target`. */
interface UnsafeInteger {
  readonly path: string
  readonly value: number
}

/**
 * Finds the first integer of a free-form value that may have lost digits. The depth is limited when
 * values are decoded (LIMITS.jsonDepthMax), so the recursion is bounded.
 */
function findUnsafeInteger(value: unknown): UnsafeInteger | undefined {
  if (typeof value === 'number') return isUnsafeInteger(value) ? { path: '', value } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const isArray = Array.isArray(value)
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnsafeInteger(inner)
    if (found !== undefined) return prependPath(isArray ? `[${key}]` : key, found)
  }
  return undefined
}

function isUnsafeInteger(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function prependPath(step: string, { path, value }: UnsafeInteger): UnsafeInteger {
  const isJoined = path === '' || path.startsWith('[')
  return { path: isJoined ? step + path : `${step}.${path}`, value }
}
