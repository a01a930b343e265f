import { CniConfig, DnsConfig, NetworkResource, Port } from '@reeve/contract'
import { take, type Draft } from '../build/draft.ts'
import { recordsOf } from '../json.ts'
import { bool, int, many, one, tableOf, text, textMap, texts } from './table.ts'

const PORT = tableOf(Port, {
  label: 'Label',
  attributes: {
    static: int('Value'),
    to: int('To'),
    host_network: text('HostNetwork'),
    ignore_collision: bool('IgnoreCollision'),
  },
})

const DNS = tableOf(DnsConfig, {
  attributes: {
    servers: texts('Servers'),
    searches: texts('Searches'),
    options: texts('Options'),
  },
})

const CNI = tableOf(CniConfig, { attributes: { args: textMap('Args') } })

export const NETWORK = tableOf(NetworkResource, {
  attributes: {
    mode: text('Mode'),
    hostname: text('Hostname'),
    mbits: int('MBits'),
    device: text('Device'),
    cidr: text('CIDR'),
    ip: text('IP'),
  },
  blocks: {
    dns: one('DNS', DNS),
    cni: one('CNI', CNI),
    port: many('@ports', PORT),
  },
  finish: dividePorts,
})

/**
 * Ports with `static` are reserved, the others dynamic. A static port 0 is none: nobody can reserve
 * it.
 */
function dividePorts(draft: Draft): void {
  const ports = recordsOf(take(draft, '@ports'))
  const isReserved = (value: unknown) => value !== null && value !== 0
  const reserved = ports.filter((port) => isReserved(port['Value']))
  const dynamic = ports.filter((port) => !isReserved(port['Value']))
  if (reserved.length > 0) draft.values.set('ReservedPorts', reserved)
  if (dynamic.length > 0) draft.values.set('DynamicPorts', dynamic)
}
