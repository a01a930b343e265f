import type {
  Affinity,
  Constraint,
  DiscoveryBlock,
  Input,
  NetworkResource,
  Port,
  ScalingPolicy,
  Spread,
  WorkloadIdentity,
} from '@reeve/contract'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  nonEmptyOr,
  opaqueOrNull,
  stringMapOrNull,
  stringsOrNull,
} from './defaults.ts'

const CONSTRAINT_DEFAULTS: Constraint = { LTarget: '', RTarget: '', Operand: '=' }
const AFFINITY_DEFAULTS: Affinity = { ...CONSTRAINT_DEFAULTS, Weight: 50 }

interface PlacementInput {
  readonly Constraints?: readonly Input<Constraint>[] | null | undefined
  readonly Affinities?: readonly Input<Affinity>[] | null | undefined
  readonly Spreads?: readonly Input<Spread>[] | null | undefined
}

/** Canonicalizes constraints, affinities and spreads of a job or group. */
export function canonicalizePlacement(input: PlacementInput) {
  return {
    ...canonicalizeConstraints(input),
    Spreads: listOrNull(input.Spreads, canonicalizeSpread),
  }
}

/** Canonicalizes constraints and affinities, also of tasks and devices, which have no spreads. */
export function canonicalizeConstraints(input: Omit<PlacementInput, 'Spreads'>) {
  return {
    Constraints: listOrNull(input.Constraints, (constraint) =>
      applyDefaults(CONSTRAINT_DEFAULTS, constraint),
    ),
    Affinities: listOrNull(input.Affinities, (affinity) =>
      applyDefaults(AFFINITY_DEFAULTS, affinity),
    ),
  }
}

function canonicalizeSpread(input: Input<Spread>): Spread {
  return {
    Attribute: input.Attribute ?? '',
    Weight: input.Weight ?? 50,
    SpreadTarget: listOrNull(input.SpreadTarget, (target) =>
      applyDefaults({ Value: '', Percent: 0 }, target),
    ),
  }
}

/** The host network of a port that names none. */
export const DEFAULT_HOST_NETWORK = 'default'

const PORT_DEFAULTS: Port = {
  Label: '',
  Value: 0,
  To: 0,
  HostNetwork: DEFAULT_HOST_NETWORK,
  IgnoreCollision: false,
}

export function canonicalizeNetwork(input: Input<NetworkResource>): NetworkResource {
  const { DNS: dns, CNI: cni } = input
  return {
    Mode: input.Mode ?? '',
    Device: input.Device ?? '',
    CIDR: input.CIDR ?? '',
    IP: input.IP ?? '',
    Hostname: input.Hostname ?? '',
    MBits: input.MBits ?? 0,
    DNS: isUnset(dns)
      ? null
      : {
          Servers: stringsOrNull(dns.Servers),
          Searches: stringsOrNull(dns.Searches),
          Options: stringsOrNull(dns.Options),
        },
    ReservedPorts: listOrNull(input.ReservedPorts, canonicalizePort),
    DynamicPorts: listOrNull(input.DynamicPorts, canonicalizePort),
    CNI: isUnset(cni) ? null : { Args: stringMapOrNull(cni.Args) },
  }
}

function canonicalizePort(input: Input<Port>): Port {
  return {
    ...applyDefaults(PORT_DEFAULTS, input),
    HostNetwork: nonEmptyOr(input.HostNetwork, DEFAULT_HOST_NETWORK),
  }
}

/** Defaults of a scaling policy; its target is always the group or task that contains it. */
interface ScalingDefaults {
  readonly type: string
  readonly min: number
  readonly target: Readonly<Record<string, string>>
}

/**
 * Returns the policy in canonical form. A missing `Max` becomes −1, which validation rejects; the
 * `ID` is set at registration.
 */
export function canonicalizeScaling(
  input: Input<ScalingPolicy>,
  defaults: ScalingDefaults,
): ScalingPolicy {
  return {
    ID: input.ID ?? '',
    Enabled: input.Enabled ?? true,
    Type: nonEmptyOr(input.Type, defaults.type),
    Target: defaults.target,
    CreateIndex: input.CreateIndex ?? 0,
    ModifyIndex: input.ModifyIndex ?? 0,
    Policy: opaqueOrNull(input.Policy),
    Min: input.Min ?? defaults.min,
    Max: input.Max ?? -1,
  }
}

export function canonicalizeIdentity(
  input: Input<WorkloadIdentity> | null | undefined,
): WorkloadIdentity | null {
  if (isUnset(input)) return null
  return {
    Name: nonEmptyOr(input.Name, 'default'),
    Audience: stringsOrNull(input.Audience),
    ChangeMode: input.ChangeMode ?? '',
    ChangeSignal: (input.ChangeSignal ?? '').toUpperCase(),
    Env: input.Env ?? false,
    File: input.File ?? false,
    Filepath: input.Filepath ?? '',
    ServiceName: input.ServiceName ?? '',
    TTL: input.TTL ?? 0,
  }
}

export function canonicalizeDiscovery(
  input: Input<DiscoveryBlock> | null | undefined,
): DiscoveryBlock | null {
  if (isUnset(input)) return null
  return applyDefaults({ Namespace: '', Cluster: 'default', Partition: '' }, input)
}
