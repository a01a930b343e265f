import type { Input, NetworkResource, Port } from '@reeve/contract'
import { fillUnset, isUnset, listOrNull, textMapOrNull, textOr, textsOrNull } from './unset.ts'

/** The host network of a port that names none. */
export const DEFAULT_HOST_NETWORK = 'default'

const PORT: Port = {
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
          Servers: textsOrNull(dns.Servers),
          Searches: textsOrNull(dns.Searches),
          Options: textsOrNull(dns.Options),
        },
    ReservedPorts: listOrNull(input.ReservedPorts, port),
    DynamicPorts: listOrNull(input.DynamicPorts, port),
    CNI: isUnset(cni) ? null : { Args: textMapOrNull(cni.Args) },
  }
}

function port(input: Input<Port>): Port {
  return {
    ...fillUnset(PORT, input),
    HostNetwork: textOr(input.HostNetwork, DEFAULT_HOST_NETWORK),
  }
}
