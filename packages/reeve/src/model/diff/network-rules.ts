import type { CniConfig, DnsConfig, NetworkResource, Port } from '@reeve/contract'
import { alike, by, list, object, objects, rulesOf, type Rules } from './rules.ts'

const STATIC_PORT = rulesOf<Port>({
  Label: 'field',
  Value: 'field',
  To: 'field',
  HostNetwork: 'field',
  IgnoreCollision: 'field',
})
/** The number of a dynamic port is chosen when it is placed. */
const DYNAMIC_PORT: Rules = { ...STATIC_PORT, Value: 'unseen' }

/** Device and addresses are those of the node that a network is placed on. */
const NETWORK = rulesOf<NetworkResource>({
  Mode: 'field',
  Device: 'unseen',
  CIDR: 'unseen',
  IP: 'unseen',
  Hostname: 'field',
  MBits: 'field',
  // Resolvers are asked in turn, so their order is part of what was asked for.
  DNS: object(rulesOf<DnsConfig>({ Servers: list, Searches: list, Options: list })),
  ReservedPorts: objects('Static Port', STATIC_PORT, by('Label')),
  DynamicPorts: objects('Dynamic Port', DYNAMIC_PORT, by('Label')),
  CNI: object(rulesOf<CniConfig>({ Args: 'entries' })),
})

export const networks = objects('Network', NETWORK, alike)
