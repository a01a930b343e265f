import type { Input, NetworkResource, Port } from '@reeve/contract'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  stringMapOrNull,
  nonEmptyOr,
  stringsOrNull,
} from './unset.ts'

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
