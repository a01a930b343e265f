import type { CniConfig, DnsConfig, NetworkResource, Port } from '@reeve/contract'
import {
  anyEntry,
  byField,
  stringList,
  objectRule,
  objectsRule,
  rulesOf,
  type Rules,
} from './rules.ts'

const STATIC_PORT = rulesOf<Port>({
  Label: 'field',
  Value: 'field',
  To: 'field',
  HostNetwork: 'field',
  IgnoreCollision: 'field',
})
/** The number of a dynamic port is assigned by the scheduler. */
const DYNAMIC_PORT: Rules = { ...STATIC_PORT, Value: 'unseen' }

/** Device and addresses are set by the node. */
const NETWORK = rulesOf<NetworkResource>({
  Mode: 'field',
  Device: 'unseen',
  CIDR: 'unseen',
  IP: 'unseen',
  Hostname: 'field',
  MBits: 'field',
  // Resolvers are tried in order, so their order matters.
  DNS: objectRule(
    rulesOf<DnsConfig>({ Servers: stringList, Searches: stringList, Options: stringList }),
  ),
  ReservedPorts: objectsRule('Static Port', STATIC_PORT, byField('Label')),
  DynamicPorts: objectsRule('Dynamic Port', DYNAMIC_PORT, byField('Label')),
  CNI: objectRule(rulesOf<CniConfig>({ Args: 'entries' })),
})

export const networks = objectsRule('Network', NETWORK, anyEntry)
