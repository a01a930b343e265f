import type { NetworkResource, Service, ServiceCheck, Task, TaskGroup } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { exposesIdentity } from './unsupported.ts'

/**
 * Returns warnings for arguments that are stored and returned but have no effect at run time
 * (decision 0087). Purely descriptive arguments, such as `meta` of a service, are not included.
 */
export function ignoredInGroup(group: TaskGroup): readonly string[] {
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

export function ignoredInTask(task: Task): readonly string[] {
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
