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
import {
  concatIssues,
  forEachEntry,
  issue,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'

/**
 * Alternatives for unsupported blocks and arguments. A job that uses one of them is rejected: if
 * accepted, it would run without it and look healthy (decision 0087).
 */
const ALTERNATIVES = {
  identity:
    'workload identity tokens are not supported: read what the task needs from variables with a template block',
  secrets:
    'external secret stores are not supported: keep the values in variables and read them with a template block',
  discovery: `external service catalogues are not supported: remove the block and use services with provider = ${quote(SERVICE_PROVIDER)}`,
  mesh: `a service mesh is not supported: remove the block and find the addresses of services of provider ${quote(SERVICE_PROVIDER)} with a template block`,
  csi: 'CSI volumes and plugins are not supported: configure a host_volume on the nodes and use a volume with type = "host"',
} as const

export function checkUnsupportedTask(task: Task, path: string): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(
      exposesIdentity(task.Identity) &&
        issue(`${path}.Identity`, `identity block: ${ALTERNATIVES.identity}`),
    ),
    issueIf(
      task.Identities !== null &&
        issue(`${path}.Identities`, `identity block: ${ALTERNATIVES.identity}`),
    ),
    issueIf(
      task.SecretStore !== null &&
        issue(`${path}.SecretStore`, `secret_store block: ${ALTERNATIVES.secrets}`),
    ),
    issueIf(
      task.Secrets !== null && issue(`${path}.Secrets`, `secret block: ${ALTERNATIVES.secrets}`),
    ),
    issueIf(
      task.Discovery !== null &&
        issue(`${path}.Discovery`, `discovery block: ${ALTERNATIVES.discovery}`),
    ),
    issueIf(
      task.CSIPluginConfig !== null &&
        issue(`${path}.CSIPluginConfig`, `csi_plugin block: ${ALTERNATIVES.csi}`),
    ),
    forEachEntry(task.VolumeMounts, `${path}.VolumeMounts`, checkLabel),
  )
}

/**
 * Reports whether the task can see the identity. Jobs exported from other systems contain a default
 * identity without effect, which is only warned about.
 */
export function exposesIdentity(identity: WorkloadIdentity | null): boolean {
  if (identity === null) return false
  const { Name, Env, File, Filepath, ServiceName, ChangeMode, TTL } = identity
  const isExposed = Env || File || Filepath !== '' || ServiceName !== ''
  return isExposed || Name !== 'default' || ChangeMode !== '' || TTL !== 0
}

function checkLabel(
  { SELinuxLabel: label }: VolumeMount,
  path: string,
): readonly ValidationIssue[] {
  return issueIf(
    label !== '' &&
      issue(
        `${path}.SELinuxLabel`,
        'selinux_label is not supported: label the directory of the host volume on the node (chcon, semanage fcontext)',
      ),
  )
}

export function checkUnsupportedGroup(group: TaskGroup, path: string): readonly ValidationIssue[] {
  return issueIf(
    group.Discovery !== null &&
      issue(`${path}.Discovery`, `discovery block: ${ALTERNATIVES.discovery}`),
  )
}

export function checkUnsupportedVolume(
  volume: VolumeRequest,
  path: string,
): readonly ValidationIssue[] {
  return issueIf(volume.Type === 'csi' && issue(`${path}.Type`, ALTERNATIVES.csi))
}

export function checkUnsupportedService(
  service: Service,
  path: string,
): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(
      service.Provider === DISCOVERY_PROVIDER &&
        issue(
          `${path}.Provider`,
          `provider ${quote(DISCOVERY_PROVIDER)}: external service catalogues are not supported: use provider = ${quote(SERVICE_PROVIDER)}, the built-in catalogue`,
        ),
    ),
    issueIf(
      service.Connect !== null && issue(`${path}.Connect`, `connect block: ${ALTERNATIVES.mesh}`),
    ),
    issueIf(
      service.Identity !== null &&
        issue(`${path}.Identity`, `identity block: ${ALTERNATIVES.identity}`),
    ),
    issueIf(
      !['', 'default'].includes(service.Cluster) &&
        issue(
          `${path}.Cluster`,
          `cluster ${quote(service.Cluster)}: external service catalogues are not supported: remove the argument`,
        ),
    ),
  )
}

/** Rejects arguments that only external catalogues and meshes use. */
export function checkUnsupportedCheck(
  check: ServiceCheck,
  path: string,
): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(check.Expose && issue(`${path}.Expose`, `expose: ${ALTERNATIVES.mesh}`)),
    issueIf(
      check.FailuresBeforeWarning > 0 &&
        issue(
          `${path}.FailuresBeforeWarning`,
          'failures_before_warning is not supported: use failures_before_critical',
        ),
    ),
  )
}
