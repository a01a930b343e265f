import {
  SERVICE_PROVIDER,
  SERVICE_PROVIDER_ALIAS,
  type CheckRestart,
  type Input,
  type Service,
  type ServiceCheck,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { canonicalizeIdentity } from './canonicalize-blocks.ts'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  mapOrNull,
  opaqueOrNull,
  stringMapOrNull,
  nonEmptyOr,
  stringsOrNull,
} from './defaults.ts'

/** Parent of a service; `task` is absent for services of a group. */
export interface ServiceParent {
  readonly job: string
  readonly namespace: string
  readonly group: string
  readonly task?: string
}

export function canonicalizeService(input: Input<Service>, parent: ServiceParent): Service {
  const name = resolveServiceName(input.Name, parent)
  const taskName = nonEmptyOr(input.TaskName, parent.task ?? '')
  const onUpdate = nonEmptyOr(input.OnUpdate, 'require_healthy')
  const provider = canonicalProvider(input.Provider)
  const owner = { name, taskName, onUpdate, restart: input.CheckRestart }
  return {
    Name: name,
    TaskName: taskName,
    PortLabel: input.PortLabel ?? '',
    AddressMode: nonEmptyOr(input.AddressMode, 'auto'),
    Address: input.Address ?? '',
    Tags: stringsOrNull(input.Tags),
    CanaryTags: stringsOrNull(input.CanaryTags),
    EnableTagOverride: input.EnableTagOverride ?? false,
    Checks: listOrNull(input.Checks, (check) => canonicalizeCheck(check, owner)),
    Meta: stringMapOrNull(input.Meta),
    CanaryMeta: stringMapOrNull(input.CanaryMeta),
    TaggedAddresses: stringMapOrNull(input.TaggedAddresses),
    // The built-in catalogue uses the namespace of the job, an external one its own namespaces.
    Namespace: provider === SERVICE_PROVIDER ? parent.namespace : (input.Namespace ?? ''),
    OnUpdate: onUpdate,
    Provider: provider,
    Cluster: input.Cluster ?? '',
    Connect: opaqueOrNull(input.Connect),
    Weights: isUnset(input.Weights)
      ? null
      : applyDefaults({ Passing: 1, Warning: 1 }, input.Weights),
    Identity: canonicalizeIdentity(input.Identity),
    Kind: input.Kind ?? '',
  }
}

interface CheckParent {
  readonly name: string
  readonly taskName: string
  readonly onUpdate: string
  /** What checks leave unset, they take from their service, whose own field stays empty. */
  readonly restart: Input<CheckRestart> | null | undefined
}

function canonicalizeCheck(input: Input<ServiceCheck>, service: CheckParent): ServiceCheck {
  return {
    Name: nonEmptyOr(input.Name, `service: "${service.name}" check`),
    Type: input.Type ?? '',
    Command: input.Command ?? '',
    Args: stringsOrNull(input.Args),
    Path: input.Path ?? '',
    Protocol: input.Protocol ?? '',
    PortLabel: input.PortLabel ?? '',
    Expose: input.Expose ?? false,
    AddressMode: input.AddressMode ?? '',
    Interval: input.Interval ?? 0,
    Timeout: input.Timeout ?? 0,
    InitialStatus: input.InitialStatus ?? '',
    Method: input.Method ?? '',
    Header: mapOrNull(input.Header, (values) => values ?? []),
    Body: input.Body ?? '',
    TLSServerName: input.TLSServerName ?? '',
    TLSSkipVerify: input.TLSSkipVerify ?? false,
    CheckRestart: canonicalizeCheckRestart(service.restart, input.CheckRestart),
    GRPCService: input.GRPCService ?? '',
    GRPCUseTLS: input.GRPCUseTLS ?? false,
    TaskName: nonEmptyOr(input.TaskName, service.taskName),
    SuccessBeforePassing: Math.max(0, input.SuccessBeforePassing ?? 0),
    FailuresBeforeCritical: Math.max(0, input.FailuresBeforeCritical ?? 0),
    FailuresBeforeWarning: Math.max(0, input.FailuresBeforeWarning ?? 0),
    Notes: input.Notes ?? '',
    OnUpdate: nonEmptyOr(input.OnUpdate, service.onUpdate),
  }
}

function canonicalizeCheckRestart(
  shared: Input<CheckRestart> | null | undefined,
  input: Input<CheckRestart> | null | undefined,
): CheckRestart | null {
  if (isUnset(shared) && isUnset(input)) return null
  const base = { Limit: 0, Grace: nsFromMs(1_000), IgnoreWarnings: false }
  if (isUnset(shared)) return applyDefaults(base, input)
  // Clients send zero and false for what a check does not set.
  const { Limit: limit, Grace, IgnoreWarnings: ignores } = input ?? {}
  const own = { Limit: limit === 0 ? null : limit, Grace, IgnoreWarnings: ignores === true || null }
  return applyDefaults(base, shared, own)
}

/** Resolves the four placeholders whose values are known at registration. */
function resolveServiceName(input: string | null | undefined, parent: ServiceParent): string {
  const [job, group] = [withoutDollarSigns(parent.job), withoutDollarSigns(parent.group)]
  const task = parent.task === undefined ? undefined : withoutDollarSigns(parent.task)
  const placeholders: Readonly<Record<string, string>> = {
    JOB: job,
    TASKGROUP: group,
    TASK: task ?? 'group',
    BASE: `${job}-${group}-${task ?? 'group'}`,
  }
  const name = nonEmptyOr(input, task === undefined ? `${job}-${group}` : `${job}-${group}-${task}`)
  return name.replaceAll(
    /\$\{(JOB|TASKGROUP|TASK|BASE)\}/g,
    (text, reference: string) => placeholders[reference] ?? text,
  )
}

/**
 * Removes `$`, so that a job name that looks like a reference is not resolved when the job is
 * resubmitted.
 */
function withoutDollarSigns(name: string): string {
  return name.replaceAll('$', '')
}

function canonicalProvider(input: string | null | undefined): string {
  const provider = nonEmptyOr(input, SERVICE_PROVIDER)
  return provider === SERVICE_PROVIDER_ALIAS ? SERVICE_PROVIDER : provider
}
