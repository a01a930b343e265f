import {
  SERVICE_PROVIDER,
  SERVICE_PROVIDER_ALIAS,
  type CheckRestart,
  type Input,
  type Service,
  type ServiceCheck,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { canonicalizeIdentity } from './canonicalize-identity.ts'
import {
  fillUnset,
  isUnset,
  listOrNull,
  mapOrNull,
  opaqueOrNull,
  textMapOrNull,
  textOr,
  textsOrNull,
} from './unset.ts'

/** Where a service stands; `task` is absent for the services of a group. */
export interface ServiceParent {
  readonly job: string
  readonly namespace: string
  readonly group: string
  readonly task?: string
}

export function canonicalizeService(input: Input<Service>, parent: ServiceParent): Service {
  const name = serviceName(input.Name, parent)
  const taskName = textOr(input.TaskName, parent.task ?? '')
  const onUpdate = textOr(input.OnUpdate, 'require_healthy')
  const provider = serviceProvider(input.Provider)
  const owner = { name, taskName, onUpdate, restart: input.CheckRestart }
  return {
    Name: name,
    TaskName: taskName,
    PortLabel: input.PortLabel ?? '',
    AddressMode: textOr(input.AddressMode, 'auto'),
    Address: input.Address ?? '',
    Tags: textsOrNull(input.Tags),
    CanaryTags: textsOrNull(input.CanaryTags),
    EnableTagOverride: input.EnableTagOverride ?? false,
    Checks: listOrNull(input.Checks, (check) => canonicalizeCheck(check, owner)),
    Meta: textMapOrNull(input.Meta),
    CanaryMeta: textMapOrNull(input.CanaryMeta),
    TaggedAddresses: textMapOrNull(input.TaggedAddresses),
    // The built-in catalogue is divided by the namespaces of jobs, an external one by its own.
    Namespace: provider === SERVICE_PROVIDER ? parent.namespace : (input.Namespace ?? ''),
    OnUpdate: onUpdate,
    Provider: provider,
    Cluster: input.Cluster ?? '',
    Connect: opaqueOrNull(input.Connect),
    Weights: isUnset(input.Weights) ? null : fillUnset({ Passing: 1, Warning: 1 }, input.Weights),
    Identity: canonicalizeIdentity(input.Identity),
    Kind: input.Kind ?? '',
  }
}

interface CheckOwner {
  readonly name: string
  readonly taskName: string
  readonly onUpdate: string
  /** What checks leave unset, they take from their service, whose own field stays empty. */
  readonly restart: Input<CheckRestart> | null | undefined
}

function canonicalizeCheck(input: Input<ServiceCheck>, service: CheckOwner): ServiceCheck {
  return {
    Name: textOr(input.Name, `service: "${service.name}" check`),
    Type: input.Type ?? '',
    Command: input.Command ?? '',
    Args: textsOrNull(input.Args),
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
    CheckRestart: checkRestart(service.restart, input.CheckRestart),
    GRPCService: input.GRPCService ?? '',
    GRPCUseTLS: input.GRPCUseTLS ?? false,
    TaskName: textOr(input.TaskName, service.taskName),
    SuccessBeforePassing: Math.max(0, input.SuccessBeforePassing ?? 0),
    FailuresBeforeCritical: Math.max(0, input.FailuresBeforeCritical ?? 0),
    FailuresBeforeWarning: Math.max(0, input.FailuresBeforeWarning ?? 0),
    Notes: input.Notes ?? '',
    OnUpdate: textOr(input.OnUpdate, service.onUpdate),
  }
}

function checkRestart(
  shared: Input<CheckRestart> | null | undefined,
  input: Input<CheckRestart> | null | undefined,
): CheckRestart | null {
  if (isUnset(shared) && isUnset(input)) return null
  const base = { Limit: 0, Grace: nsFromMs(1_000), IgnoreWarnings: false }
  if (isUnset(shared)) return fillUnset(base, input)
  // Clients send zero and false for what a check does not set.
  const { Limit: limit, Grace, IgnoreWarnings: ignores } = input ?? {}
  const own = { Limit: limit === 0 ? null : limit, Grace, IgnoreWarnings: ignores === true || null }
  return fillUnset(base, shared, own)
}

/** These four names are known when the job is registered. */
function serviceName(given: string | null | undefined, parent: ServiceParent): string {
  const [job, group] = [inserted(parent.job), inserted(parent.group)]
  const task = parent.task === undefined ? undefined : inserted(parent.task)
  const known: Readonly<Record<string, string>> = {
    JOB: job,
    TASKGROUP: group,
    TASK: task ?? 'group',
    BASE: `${job}-${group}-${task ?? 'group'}`,
  }
  const name = textOr(given, task === undefined ? `${job}-${group}` : `${job}-${group}-${task}`)
  return name.replaceAll(
    /\$\{(JOB|TASKGROUP|TASK|BASE)\}/g,
    (text, reference: string) => known[reference] ?? text,
  )
}

/**
 * A name that spells a reference itself must not be resolved when the job is read and sent again.
 */
function inserted(name: string): string {
  return name.replaceAll('$', '')
}

function serviceProvider(given: string | null | undefined): string {
  const provider = textOr(given, SERVICE_PROVIDER)
  return provider === SERVICE_PROVIDER_ALIAS ? SERVICE_PROVIDER : provider
}
