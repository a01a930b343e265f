import {
  DISCOVERY_PROVIDER,
  SERVICE_PROVIDER,
  type Service,
  type ServiceCheck,
  type Task,
  type TaskGroup,
  type VolumeMount,
  type VolumeRequest,
  type WorkloadIdentity,
} from '@reeve/contract'
import { allOf, each, finding, quote, when, type Finding } from './finding.ts'

/**
 * Blocks and arguments that nothing in this product carries out. A job that needs one of them is
 * rejected: accepted, it would run without what its author relies on, and look healthy. Each
 * message names what to use instead (decision 0087).
 */
const INSTEAD = {
  identity:
    'workload identity tokens are not supported: read what the task needs from variables with a template block',
  secrets:
    'external secret stores are not supported: keep the values in variables and read them with a template block',
  discovery: `external service catalogues are not supported: remove the block and use services with provider = ${quote(SERVICE_PROVIDER)}`,
  mesh: `a service mesh is not supported: remove the block and find the addresses of services of provider ${quote(SERVICE_PROVIDER)} with a template block`,
  csi: 'CSI volumes and plugins are not supported: configure a host_volume on the nodes and use a volume with type = "host"',
} as const

export function checkUnsupportedTask(task: Task, path: string): readonly Finding[] {
  return allOf(
    when(
      exposesIdentity(task.Identity) &&
        finding(`${path}.Identity`, `identity block: ${INSTEAD.identity}`),
    ),
    when(
      task.Identities !== null &&
        finding(`${path}.Identities`, `identity block: ${INSTEAD.identity}`),
    ),
    when(
      task.SecretStore !== null &&
        finding(`${path}.SecretStore`, `secret_store block: ${INSTEAD.secrets}`),
    ),
    when(task.Secrets !== null && finding(`${path}.Secrets`, `secret block: ${INSTEAD.secrets}`)),
    when(
      task.Discovery !== null &&
        finding(`${path}.Discovery`, `discovery block: ${INSTEAD.discovery}`),
    ),
    when(
      task.CSIPluginConfig !== null &&
        finding(`${path}.CSIPluginConfig`, `csi_plugin block: ${INSTEAD.csi}`),
    ),
    each(task.VolumeMounts, `${path}.VolumeMounts`, checkLabel),
  )
}

/**
 * Jobs exported from other systems carry a default identity that nothing in the task sees; that one
 * is only warned about.
 */
export function exposesIdentity(identity: WorkloadIdentity | null): boolean {
  if (identity === null) return false
  const { Name, Env, File, Filepath, ServiceName, ChangeMode, TTL } = identity
  const isShown = Env || File || Filepath !== '' || ServiceName !== ''
  return isShown || Name !== 'default' || ChangeMode !== '' || TTL !== 0
}

function checkLabel({ SELinuxLabel: label }: VolumeMount, path: string): readonly Finding[] {
  return when(
    label !== '' &&
      finding(
        `${path}.SELinuxLabel`,
        'selinux_label is not supported: label the directory of the host volume on the node (chcon, semanage fcontext)',
      ),
  )
}

export function checkUnsupportedGroup(group: TaskGroup, path: string): readonly Finding[] {
  return when(
    group.Discovery !== null &&
      finding(`${path}.Discovery`, `discovery block: ${INSTEAD.discovery}`),
  )
}

export function checkUnsupportedVolume(volume: VolumeRequest, path: string): readonly Finding[] {
  return when(volume.Type === 'csi' && finding(`${path}.Type`, INSTEAD.csi))
}

export function checkUnsupportedService(service: Service, path: string): readonly Finding[] {
  return allOf(
    when(
      service.Provider === DISCOVERY_PROVIDER &&
        finding(
          `${path}.Provider`,
          `provider ${quote(DISCOVERY_PROVIDER)}: external service catalogues are not supported: use provider = ${quote(SERVICE_PROVIDER)}, the built-in catalogue`,
        ),
    ),
    when(service.Connect !== null && finding(`${path}.Connect`, `connect block: ${INSTEAD.mesh}`)),
    when(
      service.Identity !== null &&
        finding(`${path}.Identity`, `identity block: ${INSTEAD.identity}`),
    ),
    when(
      !['', 'default'].includes(service.Cluster) &&
        finding(
          `${path}.Cluster`,
          `cluster ${quote(service.Cluster)}: external service catalogues are not supported: remove the argument`,
        ),
    ),
  )
}

/** Arguments that only external catalogues and meshes act on. */
export function checkUnsupportedCheck(check: ServiceCheck, path: string): readonly Finding[] {
  return allOf(
    when(check.Expose && finding(`${path}.Expose`, `expose: ${INSTEAD.mesh}`)),
    when(
      check.FailuresBeforeWarning > 0 &&
        finding(
          `${path}.FailuresBeforeWarning`,
          'failures_before_warning is not supported: use failures_before_critical',
        ),
    ),
  )
}
