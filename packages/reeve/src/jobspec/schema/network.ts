import { CniConfig, DnsConfig, NetworkResource, Port } from '@reeve/contract'
import { takePseudoField, type RecordBuilder } from '../build/draft.ts'
import { toRecords } from '../json.ts'
import { bool, int, many, one, mapBlock, string, stringMap, stringList } from './table.ts'

const PORT = mapBlock(Port, {
  label: 'Label',
  attributes: {
    static: int(
      'Value',
      'Port of the node to reserve, up to 65535. Without it the scheduler picks a free one from ' +
        "the node's range of dynamic ports.",
    ),
    to: int(
      'To',
      'Port inside the network of the group that the port is mapped to; -1 maps to the same ' +
        'number.',
    ),
    host_network: string('HostNetwork', 'Host network of the node whose address is used.'),
    ignore_collision: bool(
      'IgnoreCollision',
      'Allows several allocations on a node to have this static port. Only in host mode.',
    ),
  },
})

const DNS = mapBlock(DnsConfig, {
  attributes: {
    servers: stringList('Servers', 'Name servers.'),
    searches: stringList('Searches', 'Search domains.'),
    options: stringList('Options', 'Options of `resolv.conf`.'),
  },
})

const CNI = mapBlock(CniConfig, {
  attributes: {
    args: stringMap(
      'Args',
      'Arguments for the CNI plugins. Only with `mode = "cni/<name>"`; no semicolons.',
    ),
  },
})

export const NETWORK = mapBlock(NetworkResource, {
  attributes: {
    mode: string(
      'Mode',
      '`host` shares the network of the node, `bridge` gives the group a network namespace ' +
        'behind a bridge, `none` one without interfaces, `cni/<name>` one that CNI plugins set ' +
        'up.',
    ),
    hostname: string('Hostname', 'Host name inside the network namespace. Not in host mode.'),
    mbits: int('MBits', 'Deprecated, ignored.'),
    device: string('Device', 'No effect: choose the address with `host_network` of a port.'),
    cidr: string('CIDR', 'No effect: choose the address with `host_network` of a port.'),
    ip: string('IP', 'No effect: choose the address with `host_network` of a port.'),
  },
  blocks: {
    dns: one('DNS', DNS),
    cni: one('CNI', CNI),
    port: many('@ports', PORT),
  },
  finish: splitPorts,
})

/**
 * Splits ports into reserved ones (with `static`) and dynamic ones. Port 0 cannot be reserved, so
 * it counts as dynamic.
 */
function splitPorts(draft: RecordBuilder): void {
  const ports = toRecords(takePseudoField(draft, '@ports'))
  const isReserved = (value: unknown) => value !== null && value !== 0
  const reserved = ports.filter((port) => isReserved(port['Value']))
  const dynamic = ports.filter((port) => !isReserved(port['Value']))
  if (reserved.length > 0) draft.values.set('ReservedPorts', reserved)
  if (dynamic.length > 0) draft.values.set('DynamicPorts', dynamic)
}
